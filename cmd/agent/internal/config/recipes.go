package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"agent/cmd/agent/internal/config/credential"
	"agent/orchestrator/exec/recipe"
	"agent/orchestrator/gateway"
	"agent/orchestrator/llm"
)

// recipeList holds recipes of programs for `agent sandbox exec`, by the names of their commands.
func recipeList() kind {
	k := mapping(func(*values, map[string]recipe.Recipe) {})
	read := k.set
	k.set = func(v *values, text string) error {
		if err := read(v, text); err != nil {
			return err
		}
		for name, r := range parseRecipes(text) {
			if err := r.Check(gateway.Vendors()); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
	// Anyone who sees the screen learns which exist, but not their content.
	k.shown = func(text string) string {
		return formatList(append([]string{}, slices.Sorted(maps.Keys(parseRecipes(text)))...))
	}
	k.secrets = func(name, text string) (keys []llm.Key) {
		recipes := parseRecipes(text)
		for _, program := range slices.Sorted(maps.Keys(recipes)) {
			env, err := json.Marshal(recipes[program].Env)
			if err == nil {
				keys = append(keys, credential.Environment(name+"."+program, string(env))...)
			}
		}
		return keys
	}
	return k
}

// parseRecipes reads the text of the setting; an unreadable one was refused before.
func parseRecipes(text string) map[string]recipe.Recipe {
	recipes := map[string]recipe.Recipe{}
	if json.Unmarshal([]byte(text), &recipes) != nil {
		return nil
	}
	return recipes
}

// Recipes returns the user's own recipes of programs, by the names of their commands.
func (s Settings) Recipes() map[string]recipe.Recipe { return parseRecipes(s["exec"].Text) }
