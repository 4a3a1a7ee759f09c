package wire

import (
	"encoding/json"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/gateway"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/vendors"
)

// A GatewayMaker makes the gateways for a program that asks the models of one vendor.
type GatewayMaker struct {
	conf   gateway.Config
	limits llm.Limits
}

// NewGatewayMaker checks that the vendor can be asked on behalf of a program: that it has a key, an address, and
// enforceable caps.
func NewGatewayMaker(set config.Settings, program, vendor string) (*GatewayMaker, error) {
	v, _, _ := llm.FindVendor(vendors.All(), vendor+"/any")
	keys, err := neededKeys(v, set, "exec."+program+" asks "+v.Title, v.Setup)
	if err != nil {
		return nil, err
	}
	limits, err := set.Budget()
	if err != nil {
		return nil, err
	}
	var prices llm.Prices
	if err := json.Unmarshal([]byte(set["prices"].Text), &prices); err != nil {
		return nil, fault.Usage("fix that value", "prices (%s): %v", set["prices"].Origin, err)
	}
	address, _ := v.Setting(llm.Address)
	m := &GatewayMaker{limits: limits, conf: gateway.Config{
		Vendor: vendor, Address: value(set, v, address).Text, Keys: keys,
		Price: func(model string) *llm.Price {
			if p := prices.Find(vendor, model); p != nil {
				return p
			}
			known, _ := catalog.Find(vendor, model)
			return known.Price
		},
	}}
	// Report an invalid gateway before anything is built.
	if _, err := gateway.New(m.conf); err != nil {
		return nil, fault.Usage(address.Next, "%s: %w", v.Key(address), err)
	}
	return m, nil
}

// Keys returns the keys that the program must never see.
func (m *GatewayMaker) Keys() []llm.Key { return m.conf.Keys }

// Gateway returns the gateway of a run, with its requests in the record of that run.
func (s *Session) Gateway(m *GatewayMaker, run string) (*gateway.Gateway, error) {
	conf := m.conf
	conf.Run, conf.Meter = run, &llm.Meter{Limits: m.limits, Journal: &loggedJournal{Journal: s.DB, open: map[int64]llm.Record{}}}
	return gateway.New(conf)
}
