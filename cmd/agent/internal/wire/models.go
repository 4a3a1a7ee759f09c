package wire

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/fault"
	"agent/orchestrator/agent"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/catalog"
	"agent/orchestrator/llm/emulated"
	"agent/orchestrator/llm/vendors"
)

// modelNames lists the models to ask, in order of preference.
func modelNames(rows []llm.Vendor, s config.Settings) []string {
	// If the user names models, only those are asked, so that code never goes to a vendor that was not meant.
	names := config.ParseList(s["model"].Text)
	if len(names) > 0 {
		return names
	}
	for _, v := range rows {
		// Only a vendor that could answer and has a default model is asked.
		if keys, keyed := v.Setting(llm.KeyList); v.Model != "" && (!keyed || value(s, v, keys).Text != "") {
			names = append(names, v.Name+"/"+v.Model)
		}
	}
	return names
}

// FirstModel returns the name of the model that is asked first, without its vendor, or "" if there is none.
func FirstModel(s config.Settings) string {
	names := modelNames(vendors.All(), s)
	if len(names) == 0 {
		return ""
	}
	return names[0][strings.IndexByte(names[0], '/')+1:]
}

// value returns the configured value of a vendor's setting.
func value(s config.Settings, v llm.Vendor, setting llm.Setting) config.Value {
	return s[v.Key(setting)]
}

// links returns the links through which the models are asked.
func links(rows []llm.Vendor, s config.Settings) ([]llm.Link, error) {
	var all []llm.Link
	for _, name := range modelNames(rows, s) {
		v, model, ok := llm.FindVendor(rows, name)
		if !ok {
			return nil, fault.Usage("use "+config.ModelForms(rows, "%s/NAME", " or "), "model (%s): unknown model %q", s["model"].Origin, name)
		}
		link, err := link(v, s, model)
		if err != nil {
			return nil, err
		}
		all = append(all, link)
	}
	return all, nil
}

// link returns the link to one model of a vendor.
func link(v llm.Vendor, s config.Settings, model string) (llm.Link, error) {
	link := llm.Link{Model: model, Context: window(v, s, model).Tokens, Price: price(v, s, model)}
	var err error
	if link.Keys, err = neededKeys(v, s, "model "+v.Name+"/"+model, v.Setup+", or name another model with --model"); err != nil {
		return llm.Link{}, err
	}
	if link.Provider, err = open(v, s); err != nil {
		return llm.Link{}, err
	}
	link.Sampling = catalog.Sampling(model)
	if own, ok := s.Sampling(v.Name, model); ok {
		link.Sampling = own
	}
	form := toolForm(v, s, model)
	link.Tools, link.Sees = form != llm.NoTools, v.Sees
	if form == llm.EmulatedTools {
		link.Provider = emulated.New(link.Provider)
	}
	return link, nil
}

// toolForm returns how a model is given tools: as the user says, or else as its vendor's models are.
func toolForm(v llm.Vendor, s config.Settings, model string) llm.ToolForm {
	return cmp.Or(s.Tools(v.Name, model), v.Tools)
}

// neededKeys returns the configured keys of a vendor. If the vendor needs a key and has none, the error is about what
// and says what to do next.
func neededKeys(v llm.Vendor, s config.Settings, what, next string) ([]llm.Key, error) {
	keys, err := vendorKeys(v, s, next)
	if setting, keyed := v.Setting(llm.KeyList); err == nil && keyed && !setting.Optional && len(keys) == 0 {
		err = fault.Usage(next, "%s: no API key", what)
	}
	return keys, err
}

// open returns the provider that asks a vendor's models, at the configured address.
func open(v llm.Vendor, s config.Settings) (llm.Provider, error) {
	address, _ := v.Setting(llm.Address)
	at := value(s, v, address)
	p, err := v.Open(at.Text)
	if err != nil { // leaves out the part of the address where a password may be
		return nil, fault.Usage(address.Next, "%s (%s): %w", v.Key(address), at.Origin, err)
	}
	return p, nil
}

// vendorKeys returns the configured keys of a vendor, or nil if it needs none. next says what to do about a list that
// cannot be read.
func vendorKeys(v llm.Vendor, s config.Settings, next string) ([]llm.Key, error) {
	setting, keyed := v.Setting(llm.KeyList)
	if !keyed {
		return nil, nil
	}
	list := value(s, v, setting)
	keys, err := llm.ParseKeys(list.Text)
	if err != nil { // names a key by its position, never by its text
		return nil, fault.Usage(next, "%s (%s): %w", v.Key(setting), list.Origin, err)
	}
	return keys, nil
}

// ConfiguredKeys returns the configured keys of every vendor, by its name; nil for a vendor that needs none.
func ConfiguredKeys(s config.Settings) (map[string][]llm.Key, error) {
	keys := map[string][]llm.Key{}
	for _, v := range vendors.All() {
		var err error
		if keys[v.Name], err = vendorKeys(v, s, "fix that value"); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// Window returns the context of the smallest model that may be asked: a question must fit a fallback too.
func Window(s config.Settings) (least agent.Window) {
	rows := vendors.All()
	for _, name := range modelNames(rows, s) {
		v, model, _ := llm.FindVendor(rows, name)
		if w := window(v, s, model); w.Tokens > 0 && (least.Tokens == 0 || w.Tokens < least.Tokens) {
			least = w
		}
	}
	return least
}

// A Budget limits how much of a workspace a question may quote.
type Budget struct {
	Bytes int    `json:"bytes"`
	Why   string `json:"why"` // the reason for the bound
}

// unpricedBudget bounds a question to a model with a large window and an unknown price, in bytes; maxBudget bounds any question.
const (
	unpricedBudget = 256 << 10
	maxBudget      = 2 << 20
	// bytesByToken is the least number of bytes of code in a token, so that a question never exceeds its permitted cost.
	bytesByToken = 3
)

// QuestionBudget returns how much a question may quote: what fits the smallest window and the permitted cost at the
// dearest model. A question is the same for every model that may be asked, since a fallback gets it too.
func QuestionBudget(s config.Settings) Budget {
	rows, least := vendors.All(), Budget{maxBudget, "the most that any question quotes"}
	for _, name := range modelNames(rows, s) {
		v, model, ok := llm.FindVendor(rows, name)
		if !ok {
			continue // the caller that asks it reports this
		}
		if b := budgetOf(v, s, model); b.Bytes < least.Bytes {
			least = b
		}
	}
	if least.Bytes == maxBudget && len(modelNames(rows, s)) == 0 {
		return Budget{agent.DefaultBudget, "no model is configured"}
	}
	return least
}

// budgetOf returns how much a question to one model may quote.
func budgetOf(v llm.Vendor, s config.Settings, model string) Budget {
	name, w := v.Name+"/"+model, window(v, s, model)
	if w.Tokens == 0 {
		return Budget{agent.DefaultBudget, "the window of " + name + " is not known"}
	}
	b := Budget{agent.Room(w.Tokens), "the window of " + name}
	price, most := price(v, s, model), s.QuestionCost()
	var bound int
	switch {
	case most == 0 || price != nil && price.In == 0:
		return b
	case price == nil:
		bound = unpricedBudget
	default:
		// Prices are per million tokens, amounts in millionths.
		bound = int(min(float64(most)/price.In*bytesByToken, maxBudget))
	}
	// A price never reduces a question below what a small local model would be shown.
	if bound = max(bound, agent.DefaultBudget); bound < b.Bytes {
		b = Budget{bound, "the price of " + name}
	}
	return b
}

// price returns the price of a model, nil if it is unknown; the user's own price takes precedence over a known one.
func price(v llm.Vendor, s config.Settings, model string) *llm.Price {
	var own llm.Prices
	// Load has checked the JSON.
	if err := json.Unmarshal([]byte(s["prices"].Text), &own); err == nil {
		if p := own.Find(v.Name, model); p != nil {
			return p
		}
	}
	if v.Local {
		return &llm.Price{}
	}
	known, _ := catalog.Find(v.Name, model)
	return known.Price
}

// window returns the context of a model: what the user says of it, else what its vendor is set to provide, else what is
// known of it. The window is empty if none of these says.
func window(v llm.Vendor, s config.Settings, model string) agent.Window {
	if n, key := s.Window(v.Name, model); n > 0 {
		return agent.Window{Tokens: n, Setting: key}
	}
	setting, ok := v.Setting(llm.ContextTokens)
	if !ok {
		known, _ := catalog.Find(v.Name, model)
		return agent.Window{Tokens: known.Context, Setting: "windows"}
	}
	n, err := strconv.Atoi(value(s, v, setting).Text)
	if err != nil { // Load has checked it
		return agent.Window{}
	}
	return agent.Window{Tokens: n, Setting: v.Key(setting)}
}

// CheckAnyModel checks that some model could answer at all, before a snapshot is taken in vain. It looks for a vendor
// that needs no key only if nothing is configured: a user who named a model learns from the run what became of it.
func CheckAnyModel(ctx context.Context, s config.Settings) error {
	rows := vendors.All()
	// This also reports a model that cannot be asked, for a missing key or an invalid host.
	if _, err := links(rows, s); err != nil || len(config.ParseList(s["model"].Text)) > 0 {
		return err
	}
	var missing []string
	for _, v := range rows {
		if v.Model == "" { // asked only by name, and none is named
			continue
		}
		if v.Host == nil {
			if keys, _ := v.Setting(llm.KeyList); value(s, v, keys).Text != "" {
				return nil
			}
			missing = append(missing, "no "+v.Title+" key")
			continue
		}
		// The provider reads the address in the same way.
		address, _ := v.Setting(llm.Address)
		host, err := v.Host(value(s, v, address).Text)
		if err != nil {
			return err
		}
		// A connection is enough; the run deals with whatever answers.
		conn, err := (&net.Dialer{Timeout: 3 * time.Second}).DialContext(ctx, "tcp", host)
		if err == nil {
			return conn.Close()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		missing = append(missing, fmt.Sprintf("no %s server at %s", v.Title, host))
	}
	return fault.Infra(ModelSetup()+", or give a patch with --patch", "no model is configured: %s", strings.Join(missing, ", and "))
}

// ModelSetup says what a user does so that any model answers.
func ModelSetup() string {
	var setup []string
	for _, v := range vendors.All() {
		setup = append(setup, v.Setup)
	}
	return strings.Join(setup, ", or ")
}

// AnyModelConfigured reports whether the user named a model, a key, or the host of a vendor that needs no key.
func AnyModelConfigured(s config.Settings) bool {
	if len(config.ParseList(s["model"].Text)) > 0 {
		return true
	}
	for _, v := range vendors.All() {
		if v.Model == "" { // asked only by name, and none is named
			continue
		}
		setting, keyed := v.Setting(llm.KeyList)
		if !keyed {
			setting, _ = v.Setting(llm.Address)
		}
		if value(s, v, setting).Text != "" {
			return true
		}
	}
	return false
}

// DescribeModels says which models would be asked, without asking any.
func DescribeModels(s config.Settings) (string, error) {
	all, err := links(vendors.All(), s)
	if err != nil {
		return "", err
	}
	var parts []string
	// It tells how many keys there are, never which.
	for _, l := range all {
		text := l.Provider.Vendor() + "/" + l.Model
		if n := len(l.Keys); n > 0 {
			text += fmt.Sprintf(" (keys: %d)", n)
		}
		if l.Price == nil {
			text += ", price unknown"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", then "), nil
}
