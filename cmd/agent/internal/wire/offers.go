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

// An Offer is what a vendor said when it was asked for its models.
type Offer struct {
	Vendor llm.Vendor
	// Missing is what the user must do before it can be asked, "" where it was asked.
	Missing string
	Models  []OfferedModel
	Err     error // why there is no list; it holds no key
}

// An OfferedModel is a model that can be asked, with what is known of it.
type OfferedModel struct {
	Name  string     // VENDOR/NAME, for --model
	Turn  int        // its place among those that are asked without --model, 0 for none
	Size  int        // tokens of question and answer, 0 when it is not known
	Price *llm.Price // nil when it is not known
	Tools llm.ToolForm
}

// patience is how long a vendor may take to list its models.
const patience = 15 * time.Second

// Offers asks every vendor that is configured which models it has, all at once, with its
// first key. An error is one of the configuration.
func Offers(ctx context.Context, s config.Settings) ([]Offer, error) {
	rows := vendors.All()
	offers := make([]Offer, len(rows))
	var asked sync.WaitGroup
	defer asked.Wait() // also where a later vendor is configured wrongly
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
		keys = append(keys, llm.Key{}) // for who needs none
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

// describe adds what is configured and known of the models.
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
		// What the server tells of itself is nearer to the truth than a table, and what the
		// user says comes before both, as in a run.
		if n, _ := s.Window(o.Vendor.Name, m.Name); n > 0 || own.Size == 0 {
			own.Size = window(o.Vendor, s, m.Name).Tokens
		}
	}
}
