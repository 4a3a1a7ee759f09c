// Package models implements `agent models`, which lists the models that can be asked, with window and price.
package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"agent/cmd/agent/internal/cmdline"
	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/cmd/agent/internal/term"
	"agent/cmd/agent/internal/wire"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/vendors"
)

type command struct{ *cmdline.Line }

// Command returns the command that lists models.
func Command(line *cmdline.Line) *cli.Command {
	c := command{line}
	return &cli.Command{
		Name: "models", Usage: "list the models that can be asked, with window, price and tools",
		Description: "Asks every configured vendor which models it has. Windows are tokens of question and\n" +
			"answer together; prices are per million tokens, in " + catalog.Currency + " for the agent's own. Yours come from\n" +
			"the user configuration and take precedence: [windows] and [prices.\"VENDOR/NAME\"]. TOOLS says how a model\n" +
			"is given tools: by calls of its own (native), or in its texts (emulated); [tools] changes that.\n\n" + cmdline.Examples(
			"agent models", "the models that answer, and which are asked without --model",
			"agent models --known", "the built-in windows and prices; no vendor is asked"),
		Flags:  []cli.Flag{&cli.BoolFlag{Name: "known", Usage: "list the built-in windows and prices without asking a vendor", DisableDefaultText: true}, cmdline.JSONFlag(cmdline.Document[Document]("models", 1))},
		Action: c.models,
	}
}

// A Document is what `models --json` prints.
type Document struct {
	Models  []Model  `json:"models"`
	Vendors []Vendor `json:"vendors"` // empty with --known
}

// A Model is one model of a Document.
type Model struct {
	Model  string `json:"model"`  // VENDOR/NAME, for --model
	Turn   int    `json:"turn"`   // its place among the models that are asked without --model, 0 for none
	Window *int   `json:"window"` // tokens of question and answer, null if unknown
	Price  *Price `json:"price"`  // null if unknown
	// How the model is given tools: "native", "emulated" or "none".
	Tools llm.ToolForm `json:"tools"`
}

// A Price is the price of a million tokens of a model.
type Price struct {
	In      float64 `json:"in"`
	Out     float64 `json:"out"`
	Cached  float64 `json:"cached"`  // for the part of the question that is read from the vendor's cache
	Written float64 `json:"written"` // for the part of the question that is written to it
}

// A Vendor says what one vendor of a Document answered.
type Vendor struct {
	Vendor string `json:"vendor"`
	State  string `json:"state"`  // "answered", "no answer", "not configured"
	Models int    `json:"models"` // the number of its models
	Detail string `json:"detail,omitempty"`
	Next   string `json:"next,omitempty"`
}

// The states of a vendor.
const (
	answered, silent, absent = "answered", "no answer", "not configured"
)

// models lists the models.
func (c command) models(ctx *cli.Context) error {
	set, err := config.Load(ctx, c.Getenv)
	if err != nil {
		return err
	}
	var doc Document
	if ctx.Bool("known") {
		doc = known()
	} else if doc, err = offered(ctx.Context, set); err != nil {
		return err
	}
	if err := c.print(doc, set.On("json")); err != nil || ctx.Bool("known") {
		return err
	}
	for _, v := range doc.Vendors {
		if v.State == answered {
			return nil
		}
	}
	return fault.Infra(wire.ModelSetup(), "no model vendor answers")
}

// known returns the agent's own table.
func known() Document {
	doc := Document{Models: []Model{}, Vendors: []Vendor{}}
	for _, m := range catalog.All() {
		v, _, _ := llm.FindVendor(vendors.All(), m.Name)
		doc.Models = append(doc.Models, newModel(wire.OfferedModel{Name: m.Name, Size: m.Context, Price: m.Price, Tools: v.Tools}))
	}
	return doc
}

// offered returns the vendors' answers.
func offered(ctx context.Context, set config.Settings) (Document, error) {
	doc := Document{Models: []Model{}, Vendors: []Vendor{}}
	offers, err := wire.Offers(ctx, set)
	if err != nil {
		return doc, err
	}
	for _, o := range offers {
		v := Vendor{Vendor: o.Vendor.Name, State: answered, Models: len(o.Models)}
		var e *llm.Error
		switch {
		case o.Missing != "":
			v.State, v.Next = absent, o.Missing
		case errors.As(o.Err, &e):
			v.State, v.Detail, v.Next = silent, string(e.Kind)+": "+e.Detail, e.Next()
		case o.Err != nil:
			v.State, v.Detail = silent, o.Err.Error()
		}
		doc.Vendors = append(doc.Vendors, v)
		for _, m := range o.Models {
			doc.Models = append(doc.Models, newModel(m))
		}
	}
	return doc, ctx.Err()
}

// newModel returns a model for printing, with unknown values left out.
func newModel(o wire.OfferedModel) Model {
	m, price := Model{Model: o.Name, Turn: o.Turn, Tools: o.Tools}, o.Price
	if o.Size > 0 {
		m.Window = &o.Size
	}
	if price == nil {
		return m
	}
	m.Price = &Price{price.In, price.Out, price.Cached, price.Written}
	// A price that is not known separately is shown as the one used in calculations, see llm.Price.
	for _, p := range []*float64{&m.Price.Cached, &m.Price.Written} {
		if *p == 0 {
			*p = price.In
		}
	}
	return m
}

// print prints the models to stdout, and to stderr the state of the vendors without any.
func (c command) print(doc Document, asJSON bool) error {
	if asJSON {
		return term.PrintJSON(c.Stdout, doc)
	}
	for _, v := range doc.Vendors {
		if v.State != answered || v.Models == 0 {
			text := v.Vendor + ": " + v.State
			if v.State == answered {
				text = v.Vendor + ": has no models"
			}
			if v.Detail != "" {
				text += ": " + v.Detail
			}
			if v.Next != "" {
				text += "\n  → " + v.Next
			}
			fmt.Fprintln(c.Stderr, term.Clean(text))
		}
	}
	if len(doc.Models) == 0 {
		return nil
	}
	return term.Print(c.Stdout, func(w io.Writer) error {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "MODEL\tWINDOW\tIN\tOUT\tCACHED\tTOOLS\tASKED")
		for _, m := range doc.Models {
			window, in, out, cached, turn := "unknown", "unknown", "unknown", "unknown", ""
			if m.Window != nil {
				window = strconv.Itoa(*m.Window)
			}
			if p := m.Price; p != nil {
				in, out, cached = amount(p.In), amount(p.Out), amount(p.Cached)
			}
			if m.Turn > 0 {
				turn = "by default, " + strconv.Itoa(m.Turn) + "."
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", term.CleanLine(m.Model), window, in, out, cached, m.Tools, turn)
		}
		return t.Flush()
	})
}

// amount formats a price for people.
func amount(price float64) string {
	if price == 0 {
		return "free"
	}
	return strconv.FormatFloat(price, 'f', -1, 64)
}
