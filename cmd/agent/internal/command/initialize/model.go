package initialize

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/cmd/agent/internal/term"
	"agent/orchestrator/llm"
	"agent/orchestrator/llm/vendors"
)

// patience bounds how long a model may take for its first answer: a local one is loaded for it.
const patience = 2 * time.Minute

// askModel asks for a model and its key or address, and tries them, until a model answers or the user keeps what was
// entered. It returns nil if the user wants no model.
func (c command) askModel(ctx context.Context) (map[string]any, error) {
	for {
		vendor, err := c.askVendor(ctx)
		if err != nil || vendor == nil {
			return nil, err
		}
		model, err := c.line(ctx, "Which model of "+vendor.Title+"?", vendor.Model)
		if err != nil {
			return nil, err
		}
		model = strings.TrimPrefix(model, vendor.Name+"/")
		values := map[string]any{"model": []string{vendor.Name + "/" + model}}
		var key llm.Key
		if setting, keyed := vendor.Setting(llm.KeyList); keyed {
			if key, err = c.askKey(ctx, *vendor, setting, values); err != nil {
				return nil, err
			}
		}
		address, err := c.askAddress(ctx, *vendor, values)
		if err != nil {
			return nil, err
		}
		err = c.try(ctx, *vendor, address, model, key)
		if err == nil {
			fmt.Fprintf(c.Stdout, "model: %s/%s answers\n", vendor.Name, model)
			return values, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		fmt.Fprintf(c.Stderr, "%s/%s does not answer: %s\n", vendor.Name, model, term.CleanLine(masked(err, key)))
		if keep, err := c.yes(ctx, "Keep it anyway?"); err != nil || keep {
			return values, err
		}
	}
}

// askVendor asks which vendor's models to use; nil for none.
func (c command) askVendor(ctx context.Context) (*llm.Vendor, error) {
	rows := vendors.All()
	q := term.Question{Text: "Whose models?", Default: 'n'}
	for i, v := range rows {
		q.Choices = append(q.Choices, term.Choice{Key: rune('1' + i), Name: v.Title, Help: "ask models of " + v.Title})
	}
	q.Choices = append(q.Choices, term.Choice{Key: 'n', Name: "none", Help: "only prove patches", More: "q"})
	key, err := c.Ask(ctx, q)
	if err != nil || key == 'n' {
		return nil, err
	}
	return &rows[key-'1'], nil
}

// askAddress asks where a vendor without keys answers. It does not write an address from the environment, nor the
// vendor's default.
func (c command) askAddress(ctx context.Context, v llm.Vendor, values map[string]any) (address string, err error) {
	setting, has := v.Setting(llm.Address)
	if !has {
		return "", nil
	}
	for _, name := range strings.Fields(setting.Env) {
		if address == "" {
			address = c.Getenv(name)
		}
	}
	if v.Host == nil {
		return address, nil
	}
	host, err := v.Host(address)
	if err != nil {
		return "", err
	}
	answer, err := c.line(ctx, "Where does "+v.Title+" answer?", host)
	if err != nil || answer == host {
		return address, err
	}
	values[v.Key(setting)] = answer
	return answer, nil
}

// askKey asks for the key of a vendor. It uses a key in the environment as it is, and does not write it.
func (c command) askKey(ctx context.Context, v llm.Vendor, setting llm.Setting, values map[string]any) (llm.Key, error) {
	for _, name := range strings.Fields(setting.Env) {
		if keys, err := llm.ParseKeys(c.Getenv(name)); err == nil && len(keys) > 0 {
			fmt.Fprintf(c.Stdout, "key: %s, which stays in the environment\n", name)
			return keys[0], nil
		}
	}
	var key llm.Key
	err := c.AskHidden(ctx, "API key of "+v.Title, func(text string) error {
		keys, err := llm.ParseKeys(text)
		if err != nil || len(keys) == 0 {
			return errors.New("that is not a key; Ctrl-C leaves")
		}
		values[v.Key(setting)], key = config.ParseList(text), keys[0]
		return nil
	})
	return key, err
}

// try asks the model for one word.
func (c command) try(ctx context.Context, v llm.Vendor, address, model string, key llm.Key) error {
	provider, err := v.Open(address)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stderr, "asking %s/%s …\n", v.Name, model)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	_, err = provider.Generate(ctx, key, llm.Request{Model: model, Messages: []llm.Message{{Role: llm.User, Text: "Answer with the word ok."}}},
		func(string) error { return nil })
	return err
}

// masked returns the text of err without the key.
func masked(err error, key llm.Key) string {
	if secret := key.Secret(); secret != "" {
		return strings.ReplaceAll(err.Error(), secret, "***")
	}
	return err.Error()
}
