package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agent/orchestrator/llm"
)

// commandArgs returns the arguments of the command that a file holds under key. A text is for the shell of the box; an
// array runs as it is, without a shell.
func commandArgs(key string, command any) ([]string, error) {
	wrong := fmt.Errorf("%s: use a string for the shell, or an array of strings", key)
	switch command := command.(type) {
	case nil:
		return nil, nil
	case string:
		if strings.TrimSpace(command) == "" {
			return nil, nil
		}
		return []string{"/bin/sh", "-c", command}, nil
	case []any:
		var args []string
		for _, a := range command {
			text, ok := a.(string)
			if !ok {
				return nil, wrong
			}
			args = append(args, text)
		}
		return args, nil
	}
	return nil, wrong
}

// formatList returns a list as one text.
func formatList(items []string) string {
	text, err := json.Marshal(items)
	if err != nil { // strings always marshal
		return ""
	}
	return string(text)
}

// ParseList is the reverse of formatList; it also accepts words separated by commas, as they come from the environment.
func ParseList(text string) []string {
	var items []string
	// A pattern may begin with a bracket too; anything that is not a JSON array is taken as words.
	if strings.HasPrefix(strings.TrimSpace(text), "[") && json.Unmarshal([]byte(text), &items) == nil {
		return items
	}
	for _, item := range strings.Split(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// parseBytes reads a size: a number of bytes, or a number with the unit KiB, MiB or GiB.
func parseBytes(text string) (int64, error) {
	// Binary units only: a limit that is 7 % off because of a missing letter helps no one.
	number, unit := strings.TrimSpace(text), int64(1)
	for suffix, size := range map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30} {
		if rest, ok := strings.CutSuffix(number, suffix); ok {
			number, unit = strings.TrimSpace(rest), size
			break
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > 1<<50/unit {
		return 0, fmt.Errorf("invalid size %q: use e.g. 512MiB", text)
	}
	return n * unit, nil
}

// parseDuration reads a duration of at least a second, in Go's notation.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Second {
		return 0, fmt.Errorf("invalid duration %q (minimum 1s): use e.g. 90s or 5m", text)
	}
	return d, nil
}

// parseSamplings reads a text that samplingList has checked.
func parseSamplings(text string) map[string]llm.Sampling {
	var samplings map[string]llm.Sampling
	if json.Unmarshal([]byte(text), &samplings) != nil {
		return nil
	}
	return samplings
}

// parseTools reads a text that toolList has checked.
func parseTools(text string) map[string]llm.ToolForm {
	var forms map[string]llm.ToolForm
	if json.Unmarshal([]byte(text), &forms) != nil {
		return nil
	}
	return forms
}

// parseWindows reads a text that windowList has checked.
func parseWindows(text string) map[string]int {
	var windows map[string]int
	if json.Unmarshal([]byte(text), &windows) != nil {
		return nil
	}
	return windows
}
