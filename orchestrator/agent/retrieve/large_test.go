package retrieve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"agent/orchestrator/ledger"
)

// large returns a ledger of 20,000 files that use the same words for the same things: 50 fields of a business, 20 entities and 20
// layers; each file has names made of all three. Three more are about shipping to islands: the file to find, its caller and its test.
func large() *ledger.Ledger {
	var files []ledger.File
	for _, field := range fields {
		for _, entity := range entities {
			for _, layer := range layers {
				path := fmt.Sprintf("services/%s/%s/%s.py", field, entity, layer)
				files = append(files, file(path, strings.ToUpper(layer[:1])+layer[1:]+" of "+entity+" in "+field+".",
					"load_"+entity, "save_"+entity+"_"+layer, "validate_"+field+"_"+entity, "list_"+layer, "=load_"+entity, "=logger", "=settings",
					"=surcharge", "=calculate_"+field))
			}
		}
	}
	target := file("services/shipping/rates/islands.py", "Surcharges for parcels to islands.",
		"island_surcharge", "IslandTable", "is_island", "=postcode", "=settings")
	user := file("services/shipping/rates/quote.py", "Quotes for a parcel.", "quote_parcel", "total_cost", "=island_surcharge")
	user.Imports = []ledger.Import{{Module: "services.shipping.rates.islands", Name: "island_surcharge", Alias: "island_surcharge", Line: 1}}
	test := file("services/shipping/rates/test_islands.py", "", "test_surcharge", "test_no_island", "=island_surcharge")
	return ledger.New(append(files, target, user, test))
}

var (
	fields = strings.Fields(`billing catalog auth shipping orders returns pricing reviews search mail chat audit reports exports imports fraud
		ledger payroll hiring travel fleet depot stock supply vendors leads sales quotes contracts legal privacy consent media images video
		maps geo weather sensors devices alerts jobs queue cache tokens sessions profiles teams billing2 archive`)
	entities = strings.Fields(`invoice parcel customer address product order refund ticket account policy document message contact device session
		payment coupon address2 region zone`)
	layers = strings.Fields(`model view handler service store schema client worker events rates rules checks format parse cache metrics admin
		errors types routes`)
)

// wordings are different goals that all concern islands.py. The last one shares no word with it.
var wordings = []string{
	"`island_surcharge` ignores postcodes in lower case",
	"Surcharge for islands is charged twice",
	"fix services/shipping/rates/islands.py: unknown postcodes raise KeyError",
	"islands.py should treat Helgoland as an island",
	"Parcels to an island cost too little",
	"IslandTable must be sorted",
	"When a customer ships a parcel to an island the surcharge is missing",
	"is_island() returns None instead of False",
	"please make the shipping rates know that Sylt is no island any more",
	"deliveries across water are too cheap",
}

// Among 20,000 files, the right one ranks first for at least 9 of 10 wordings of a goal.
func TestALargeWorkspace(t *testing.T) {
	t.Parallel()
	book := large()
	paths := book.Paths()
	if len(paths) != 20_003 {
		t.Fatalf("%d files", len(paths))
	}
	first := 0
	for _, goal := range wordings {
		hits := Rank(book, nil, paths, goal)
		at := slices.IndexFunc(hits, func(h Hit) bool { return h.Path == "services/shipping/rates/islands.py" })
		if at == 0 {
			first++
		}
		t.Logf("%2d of %d hits %.60s: %s", at, len(hits), goal, hits[0].Path)
	}
	if first < 9 {
		t.Errorf("the right file is the first in %d of %d wordings", first, len(wordings))
	}
}

func BenchmarkRank(b *testing.B) {
	book := large()
	paths := book.Paths()
	for b.Loop() {
		Rank(book, nil, paths, wordings[6])
	}
}
