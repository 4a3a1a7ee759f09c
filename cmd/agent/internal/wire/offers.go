package wire

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/vendors"
)

// An Offer is a vendor's answer to the question for its models.
type Offer struct {
	Vendor llm.Vendor
	// Missing says what the user must do before the vendor can be asked; "" if it was asked.
	Missing string
	Models  []OfferedModel
	Err     error // why there is no list; holds no key
}

// An OfferedModel is a model that can be asked, with its known properties.
type OfferedModel struct {
	Name  string     // VENDOR/NAME, for --model
	Turn  int        // its place among the models that are asked without --model, 0 for none
	Size  int        // tokens of question and answer, 0 if unknown
	Price *llm.Price // nil if unknown
	Tools llm.ToolForm
}

// patience bounds how long a vendor may take to list its models.
const patience = 15 * time.Second

// Offers asks every configured vendor which models it has, all at once, with its first key. An error is always about
// the configuration.
func Offers(ctx context.Context, s config.Settings) ([]Offer, error) {
	rows := vendors.All()
	offers := make([]Offer, len(rows))
	var asked sync.WaitGroup
	defer asked.Wait() // also if a later vendor is misconfigured
	for i, v := range rows {
		offers[i].Vendor = v
		keys, err := vendorKeys(v, s, "fix that value")
		if err != nil {
			return nil, err
		}
		setting, keyed := v.Setting(llm.KeyList)
		address, _ := v.Setting(llm.Address)
		if keyed && !setting.Optional && len(keys) == 0 || v.Model == "" && value(s, v, address).Text == "" {
			offers[i].Missing = v.Setup
			continue
		}
		p, err := open(v, s)
		if err != nil {
			return nil, err
		}
		keys = append(keys, llm.Key{}) // for vendors that need none
		asked.Go(func() { offers[i].ask(ctx, p, keys[0]) })
	}
	asked.Wait()
	for i := range offers {
		offers[i].describe(rows, s)
	}
	return offers, nil
}

// ask lists the models of p by their own names.
func (o *Offer) ask(ctx context.Context, p llm.Provider, key llm.Key) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lister, ok := p.(llm.Lister)
	if !ok {
		return
	}
	models, err := lister.Models(ctx, key)
	o.Err = err
	for _, m := range models {
		o.Models = append(o.Models, OfferedModel{Name: llm.Line(m.Name), Size: m.Context})
	}
}

// describe adds the configured and known properties of the models.
func (o *Offer) describe(rows []llm.Vendor, s config.Settings) {
	var prices llm.Prices
	if json.Unmarshal([]byte(s["prices"].Text), &prices) != nil { // Load has checked it
		prices = nil
	}
	names := modelNames(rows, s)
	for i, m := range o.Models {
		own := &o.Models[i]
		known, _ := catalog.Find(o.Vendor.Name, m.Name)
		own.Name, own.Price = o.Vendor.Name+"/"+m.Name, known.Price
		own.Tools = toolForm(o.Vendor, s, m.Name)
		own.Turn = slices.Index(names, own.Name) + 1
		if o.Vendor.Local {
			own.Price = &llm.Price{}
		}
		if price := prices.Find(o.Vendor.Name, m.Name); price != nil {
			own.Price = price
		}
		// The server's own statement is more reliable than a table, and the user's precedes both, as in a run.
		if n, _ := s.Window(o.Vendor.Name, m.Name); n > 0 || own.Size == 0 {
			own.Size = window(o.Vendor, s, m.Name).Tokens
		}
	}
}
