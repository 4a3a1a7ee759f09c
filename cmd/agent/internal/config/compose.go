package config

import (
	"fmt"

	"github.com/pelletier/go-toml/v2"
)

// Compose returns a user's configuration file that holds these values, by the names of their settings: lists as
// []string, the rest as text. A value that the file may not hold is an error.
func Compose(values map[string]any) ([]byte, error) {
	file := map[string]any{}
	for _, row := range table {
		value, set := values[row.Name]
		if !set {
			continue
		}
		group, key := row.fileKey()
		in := file
		if group != "" {
			if file[group] == nil {
				file[group] = map[string]any{}
			}
			in = file[group].(map[string]any)
		}
		in[key] = value
	}
	data, err := toml.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	if _, err := readRows(table, ofUser, data); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	return data, nil
}
