package strictyaml

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

func scalar(s string, v reflect.Value) error {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		x, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("invalid duration %q: write it as 150ms, 1s or 10m", s)
		}
		v.SetInt(int64(x))
		return nil
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		if s != "true" && s != "false" {
			return fmt.Errorf("invalid boolean %q: want true or false", s)
		}
		v.SetBool(s == "true")
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		x, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return integerError(s, err)
		}
		v.SetInt(x)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		x, err := strconv.ParseUint(s, 10, v.Type().Bits())
		if err != nil {
			return integerError(s, err)
		}
		v.SetUint(x)
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(s, v.Type().Bits())
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) || strings.ContainsAny(s, "_xX") { // as of no integer either
			return fmt.Errorf("invalid number %q", s)
		}
		v.SetFloat(x)
	default:
		return fmt.Errorf("a field of type %s cannot be set from text", v.Type())
	}
	return nil
}

func integerError(s string, err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("integer %s is out of range", s)
	}
	return fmt.Errorf("invalid integer %q", s)
}
