package llm

import (
	"fmt"
	"math"
)

// Money is an amount in millionths of the currency in which prices are given.
type Money int64

// String writes the amount with its six decimals: 1250000 is "1.250000".
func (m Money) String() string {
	sign, n := "", uint64(m)
	if m < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%06d", sign, n/1e6, n%1e6)
}

// A Price is the cost of a model in units of the currency per million tokens, as vendors print it. The zero Price is that of a
// model on the user's own machine.
type Price struct {
	In      float64 `toml:"in"`      // of the question
	Out     float64 `toml:"out"`     // of the answer, reasoning included
	Cached  float64 `toml:"cached"`  // of the part of the question that the vendor had in its cache; 0 for the same as In
	Written float64 `toml:"written"` // of the part that the vendor was asked to put there; 0 for the same as In
}

// Prices holds prices by vendor/model, such as "gemini/gemini-2.5-flash", or by "vendor/*" for every other model of a vendor.
type Prices map[string]Price

// Find returns the price of a model, or nil if it is not known.
func (p Prices) Find(vendor, model string) *Price {
	for _, name := range []string{vendor + "/" + model, vendor + "/*"} {
		if price, ok := p[name]; ok {
			return &price
		}
	}
	return nil
}

const (
	// maxPrice per million tokens and maxTokens per request keep every product within 64 bits; both are far beyond any vendor's.
	maxPrice  = 1e6
	maxTokens = 10_000_000
)

// check refuses a price that cannot be used in calculations.
func (p Price) check() error {
	for _, x := range []float64{p.In, p.Out, p.Cached, p.Written} {
		if !(x >= 0 && x <= maxPrice) { // also refuses NaN
			return fmt.Errorf("a price of %v for a million tokens is outside 0 to %d", x, int(maxPrice))
		}
	}
	return nil
}

// Cost returns the cost of u, rounded up to a millionth. A price per million tokens in whole units equals a price per token in
// millionths. It is rounded to a thousandth of that, and the rest is integer arithmetic.
func (p Price) Cost(u Usage) Money {
	per := func(price float64, tokens int) int64 {
		price = min(max(price, 0), maxPrice)
		return int64(math.Round(price*1000)) * int64(min(max(tokens, 0), maxTokens))
	}
	cached := p.Cached
	if cached == 0 {
		cached = p.In // not known: never assume less than is paid
	}
	written := p.Written
	if written == 0 {
		written = p.In
	}
	sum := per(p.In, u.In.N-u.Cached-u.Written) + per(cached, u.Cached) + per(written, u.Written) + per(p.Out, u.Out.N)
	return Money((sum + 999) / 1000)
}

// sane returns the counts in u as far as they are credible, and the estimate for the rest: a count that is missing, negative or
// huge would let a budget be exceeded, or end a run that has spent nothing. bytes is the size of the question; vendors add little
// to it, and no token is shorter than a byte.
func sane(u, estimate Usage, bytes int) Usage {
	const added = 4096
	if u.In.N <= 0 || u.In.N > bytes+added {
		u.In = estimate.In
	}
	if u.Out.N < 0 || u.Out.N > maxTokens || u.Out.N == 0 && estimate.Out.N > 0 {
		u.Out = estimate.Out
	}
	if u.Cached < 0 || u.Cached > u.In.N {
		u.Cached = 0
	}
	if u.Written < 0 || u.Written > u.In.N-u.Cached {
		u.Written = 0
	}
	if u.Reason < 0 || u.Reason > u.Out.N {
		u.Reason = 0
	}
	return u
}
