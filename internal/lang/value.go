package lang

import "reflect"

// In returns a copy of a value with the texts that its exported fields and slices hold as strings in a language. It enters
// interfaces with methods, such as charts, but not any, which holds data for programs.
func In[T any](l *Language, v T) T { return translated(reflect.ValueOf(&v).Elem(), l).Interface().(T) }

func translated(v reflect.Value, l *Language) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); Text(s).Marked() {
			out := reflect.New(v.Type()).Elem()
			out.SetString(Text(s).In(l))
			return out
		}
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				out.Field(i).Set(translated(v.Field(i), l))
			}
		}
		return out
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); v.IsNil() || k == reflect.Float64 || k == reflect.Bool {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(translated(v.Index(i), l))
		}
		return out
	case reflect.Array:
		out := reflect.New(v.Type()).Elem()
		for i := range v.Len() {
			out.Index(i).Set(translated(v.Index(i), l))
		}
		return out
	case reflect.Interface:
		if v.NumMethod() > 0 && !v.IsNil() && v.Elem().Kind() == reflect.Struct {
			return translated(v.Elem(), l)
		}
	}
	return v
}
