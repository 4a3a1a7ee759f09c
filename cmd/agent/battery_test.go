package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// battery lists the attacks of a hostile workspace, patch or program, by the numbers in the tests' comments: A for ways
// out of a box, B for using up a resource, and C for what a promotion or an archive may meet.
const battery = "A01–A07 A09 A10 A12 A13 A16–A21 " +
	"B01 B02 B04–B08 B10 B11 B13 B15–B18 B21–B23 " +
	"C01 C02 C05 C07–C09 C11–C13 C15 C17–C19 C21–C24 C26 C27 C29 C30 C32"

// batteryRow matches a number, or the first and the last of a range.
var batteryRow = regexp.MustCompile(`\b([ABC])([0-9]{2})(?:–[ABC]([0-9]{2}))?\b`)

// batteryRows lists the numbers in a text.
func batteryRows(text string) (rows []string) {
	for _, m := range batteryRow.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(m[2]) // two digits
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		for n := first; n <= last; n++ {
			rows = append(rows, fmt.Sprintf("%s%02d", m[1], n))
		}
	}
	return rows
}

func TestEveryRowOfTheBatteryHasItsTest(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`(?m)^\s*(//|#).*$`)
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS(root), ".", func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") && path.Ext(p) != ".txtar" {
			return err
		}
		text, err := os.ReadFile(path.Join(root, p))
		for _, line := range comment.FindAllString(string(text), -1) {
			for _, row := range batteryRows(line) {
				found[row] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := batteryRows(battery)
	for _, row := range rows {
		if !found[row] {
			t.Errorf("%s: no test says that it shows it", row)
		}
		delete(found, row)
	}
	if len(rows) != 56 || len(found) > 0 {
		t.Errorf("%d rows; no rows are %v", len(rows), found)
	}
}
