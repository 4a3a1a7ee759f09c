package wire

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/crew"
)

// taskFile is the origin of a cap that a task file has set.
const taskFile = "the task file"

// Tightened returns the settings with the caps of a task file where those are lower: a file raises none. When a loop is resumed, a cap
// that the user gives by its flag replaces the file's, since a cap that was reached would end the loop at once again.
func Tightened(set config.Settings, l crew.LoopLimits, resumed bool) (config.Settings, error) {
	var mine time.Duration
	var err error
	if l.Time != "" {
		if mine, err = time.ParseDuration(l.Time); err != nil {
			return set, fmt.Errorf("limits.time: %w", err)
		}
	}
	for _, c := range []struct {
		name, text string
		given      bool
		lower      func(now string) bool
	}{
		{"budget.requests", strconv.Itoa(l.Requests), l.Requests > 0, func(now string) bool {
			n, err := strconv.Atoi(now)
			return err != nil || n == 0 || l.Requests < n
		}},
		{"budget.tokens", strconv.FormatInt(l.Tokens, 10), l.Tokens > 0, func(now string) bool {
			n, err := strconv.ParseInt(now, 10, 64)
			return err != nil || n == 0 || l.Tokens < n
		}},
		{"budget.cost", strconv.FormatFloat(l.Cost, 'f', -1, 64), l.Cost > 0, func(now string) bool {
			n, err := strconv.ParseFloat(now, 64)
			return err != nil || n == 0 || l.Cost < n
		}},
		{"budget.time", l.Time, l.Time != "", func(now string) bool {
			n, err := time.ParseDuration(now)
			return err != nil || mine < n
		}},
	} {
		byHand := resumed && strings.HasPrefix(set[c.name].Origin, "--")
		if c.given && !byHand && c.lower(set[c.name].Text) {
			set = set.With(c.name, c.text, taskFile)
		}
	}
	return set, nil
}
