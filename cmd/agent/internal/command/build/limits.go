package build

import (
	"fmt"
	"strconv"
	"time"

	"agent/cmd/agent/internal/config"
	"agent/orchestrator/crew"
)

// tightened returns the settings with the caps of a task file, where those are lower: a file raises none.
func tightened(set config.Settings, l crew.LoopLimits) (config.Settings, error) {
	const origin = "the task file"
	if now, err := strconv.Atoi(set["budget.requests"].Text); l.Requests > 0 && (err != nil || now == 0 || l.Requests < now) {
		set = set.With("budget.requests", strconv.Itoa(l.Requests), origin)
	}
	if now, err := strconv.ParseInt(set["budget.tokens"].Text, 10, 64); l.Tokens > 0 && (err != nil || now == 0 || l.Tokens < now) {
		set = set.With("budget.tokens", strconv.FormatInt(l.Tokens, 10), origin)
	}
	if now, err := strconv.ParseFloat(set["budget.cost"].Text, 64); l.Cost > 0 && (err != nil || now == 0 || l.Cost < now) {
		set = set.With("budget.cost", strconv.FormatFloat(l.Cost, 'f', -1, 64), origin)
	}
	if l.Time != "" {
		mine, err := time.ParseDuration(l.Time)
		if err != nil {
			return set, fmt.Errorf("limits.time: %w", err)
		}
		if now, err := time.ParseDuration(set["budget.time"].Text); err != nil || mine < now {
			set = set.With("budget.time", l.Time, origin)
		}
	}
	return set, nil
}
