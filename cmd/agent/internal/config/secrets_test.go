package config

import (
	"testing"
)

// A password that is an ordinary word would take it out of every other line.
func TestOrdinaryWordsAreNoSecretsOfOutput(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]bool{
		"postgres": true, "password": true, "Password1": false, "PASSWORD": true, "postgres123": true, "changeme!": true, "": true,
		"correcthorsebattery": false, "hunter2hunter2": false, "q7rk2vxm": false, "pg-sesame-1": false, "12345678": false,
	} {
		if got := ordinary(secret); got != want {
			t.Errorf("%q: %v, want %v", secret, got, want)
		}
	}
}
