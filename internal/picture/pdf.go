package picture

import (
	"fmt"
	"io"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"golang.org/x/image/font/gofont/goregular"
)

// PDF writes an SVG of package chart as a page of its size, in points, with its texts as text. The same
// drawing and title give the same bytes.
func PDF(w io.Writer, svg, title string) error {
	d, err := read(svg)
	if err != nil {
		return err
	}
	f, err := regular()
	if err != nil {
		return err
	}
	p := fpdf.NewCustom(&fpdf.InitType{OrientationStr: "portrait", UnitStr: "pt", Size: fpdf.SizeType{Wd: d.width, Ht: d.height}})
	p.SetAutoPageBreak(false, 0)
	p.SetCatalogSort(true)
	p.SetCreationDate(time.Unix(0, 0).UTC())
	p.SetModificationDate(time.Unix(0, 0).UTC())
	p.SetProducer("weir", true)
	p.SetTitle(title, true)
	p.AddUTF8FontFromBytes("go", "", goregular.TTF)
	p.AddPage()
	p.SetFont("go", "", 12)
	page := page{Fpdf: p, alpha: 255}
	for _, s := range d.shapes {
		if s.text != "" {
			s.text, _ = legible(f, s.text)
			page.text(s)
		} else {
			page.shape(s)
		}
	}
	if err := p.Output(w); err != nil {
		return fmt.Errorf("picture: cannot write PDF: %w", err)
	}
	return nil
}

type page struct {
	*fpdf.Fpdf
	alpha         uint8
	dashed, round bool
}

// opaque sets the opacity of what follows, unless it has it already or paints nothing.
func (p *page) opaque(alpha uint8) {
	if alpha == 0 {
		alpha = 255
	}
	if alpha != p.alpha {
		p.SetAlpha(float64(alpha)/255, "Normal")
		p.alpha = alpha
	}
}

func (p *page) shape(s shape) {
	operator := ""
	p.opaque(s.inside().A)
	if c := s.inside(); c.A > 0 {
		p.SetFillColor(int(c.R), int(c.G), int(c.B))
		operator += "F"
	}
	if c := s.outside(); c.A > 0 {
		p.SetDrawColor(int(c.R), int(c.G), int(c.B))
		p.SetLineWidth(s.width)
		if s.round != p.round {
			p.SetLineCapStyle(map[bool]string{true: "round", false: "butt"}[s.round])
			p.round = s.round
		}
		if s.dash != nil || p.dashed {
			p.SetDashPattern(s.dash, 0)
			p.dashed = s.dash != nil
		}
		operator += "D"
	}
	switch {
	case operator == "":
	case s.radius > 0:
		p.Circle(s.at.x, s.at.y, s.radius, operator)
	default:
		for _, c := range s.contours {
			for i, at := range c.points {
				if i == 0 {
					p.MoveTo(at.x, at.y)
				} else {
					p.LineTo(at.x, at.y)
				}
			}
			if c.closed {
				p.ClosePath()
			}
		}
		p.DrawPath(operator)
	}
}

func (p *page) text(s shape) {
	c := s.inside()
	if c.A == 0 {
		return
	}
	p.opaque(c.A)
	p.SetTextColor(int(c.R), int(c.G), int(c.B))
	p.SetFontSize(s.size)
	x := s.at.x
	switch w := p.GetStringWidth(s.text); s.anchor {
	case "middle":
		x -= w / 2
	case "end":
		x -= w
	}
	p.Text(x, s.at.y, s.text)
}
