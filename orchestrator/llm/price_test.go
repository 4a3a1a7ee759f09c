package llm_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"agent/orchestrator/llm"
)

func tokens(n int) llm.Tokens { return llm.Tokens{N: n} }

func TestCost(t *testing.T) {
	flash := llm.Price{In: 0.30, Out: 2.50, Cached: 0.075}
	for _, c := range []struct {
		price llm.Price
		usage llm.Usage
		want  string
	}{
		{flash, llm.Usage{}, "0.000000"},
		{flash, llm.Usage{In: tokens(1)}, "0.000001"}, // rounded up
		{flash, llm.Usage{In: tokens(10)}, "0.000003"},
		{flash, llm.Usage{In: tokens(1_000_000), Out: tokens(1_000_000)}, "2.800000"},
		{flash, llm.Usage{In: tokens(1_000_000), Cached: 400_000}, "0.210000"},
		{llm.Price{In: 0.07}, llm.Usage{In: tokens(100)}, "0.000007"}, // in floating point, 0.07*100 is more than 7
		{llm.Price{In: 2}, llm.Usage{In: tokens(100), Cached: 100}, "0.000200"},
		{llm.Price{}, llm.Usage{In: tokens(1_000_000), Out: tokens(5)}, "0.000000"},
		{llm.Price{In: math.MaxFloat64, Out: -1}, llm.Usage{In: tokens(math.MaxInt), Out: tokens(math.MinInt)}, "10000000.000000"},
	} {
		if got := c.price.Cost(c.usage).String(); got != c.want {
			t.Errorf("%+v at %+v costs %s, want %s", c.usage, c.price, got, c.want)
		}
	}
}

func TestCostNeverFallsWithMoreTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := llm.Price{In: rapid.Float64Range(0, 1e6).Draw(t, "in"), Out: rapid.Float64Range(0, 1e6).Draw(t, "out")}
		u := llm.Usage{In: tokens(rapid.IntRange(0, 1e7).Draw(t, "n")), Out: tokens(rapid.IntRange(0, 1e7).Draw(t, "m"))}
		more := u
		more.In.N += rapid.IntRange(0, 1e7).Draw(t, "more")
		if price.Cost(u) < 0 || price.Cost(more) < price.Cost(u) {
			t.Fatalf("%+v costs %v and %+v %v", u, price.Cost(u), more, price.Cost(more))
		}
	})
}

func TestMoney(t *testing.T) {
	for m, want := range map[llm.Money]string{
		0: "0.000000", 1: "0.000001", -1: "-0.000001", 1_250_000: "1.250000", math.MinInt64: "-9223372036854.775808",
	} {
		if got := m.String(); got != want {
			t.Errorf("%d is %s, want %s", int64(m), got, want)
		}
	}
}

func TestPricesAreFoundByModelThenByVendor(t *testing.T) {
	prices := llm.Prices{"gemini/flash": {In: 1}, "gemini/*": {In: 2}, "ollama/*": {}}
	for name, want := range map[[2]string]*llm.Price{
		{"gemini", "flash"}: {In: 1}, {"gemini", "pro"}: {In: 2}, {"ollama", "coder:30b"}: {}, {"other", "m"}: nil,
	} {
		got := prices.Find(name[0], name[1])
		if (got == nil) != (want == nil) || got != nil && *got != *want {
			t.Errorf("%v costs %v, want %v", name, got, want)
		}
	}
}
