package verify

import (
	"fmt"
	"strings"
	"testing"

	"agent/sandbox"
	"agent/verify/check"
	"agent/verify/checktest"
	"agent/verify/syntax"
)

// page returns a complete document around a body.
func page(body string) string {
	return "<!DOCTYPE html>\n<html lang=en><head><title>t</title></head><body>\n" + body + "\n</body></html>\n"
}

// growing returns entities, each of which consists of thirty copies of the previous one.
func growing() string {
	text := "<!DOCTYPE l [<!ENTITY a0 \"" + strings.Repeat("x", 1000) + "\">"
	for i := range 8 {
		text += fmt.Sprintf("<!ENTITY a%d \"%s\">", i+1, strings.Repeat(fmt.Sprintf("&a%d;", i), 30))
	}
	return text + "]><l>&a8;</l>"
}

// copying returns YAML lists, each of which consists of nine copies of the previous one.
func copying() string {
	text := "a0: &a0 [x]\n"
	for i := range 12 {
		text += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i+1, i+1, strings.Repeat(fmt.Sprintf("*a%d, ", i), 8), i)
	}
	return text
}

func TestMarkupFaultsAreSeenAndNothingElse(t *testing.T) {
	t.Parallel()
	// Each has the line of the finding and words of its message.
	bad := map[string][3]any{
		"open.yaml":    {"a: 1\nb: [1\n", 3, "did not find expected"},
		"tab.yml":      {"a:\n\tb: 1\n", 2, "cannot start any token"},
		"twice.yaml":   {"a: 1\nb: 2\n\"a\": 3\n", 3, "key given twice: a"},
		"inner.yaml":   {"x:\n  - a: 1\n    a: 2\n", 3, "key given twice: a"},
		"alias.yaml":   {"a: &x 1\n---\nb: *x\n", 3, "alias of nothing: *x"},
		"colon.yaml":   {"a: b: c\n", 1, "mapping values are not allowed"},
		"latin.yaml":   {"a: 1\nb: \xe9\n", 2, "not text"},
		"deep.yaml":    {strings.Repeat("[", 20000), 1, "nested too deeply"},
		"deeper.yaml":  {strings.Repeat("- ", 20000), 1, "nested too deeply"},
		"open.xml":     {"<a>\n<b></a>", 2, "mismatched tag"},
		"empty.xml":    {"", 1, "no element found"},
		"entity.xml":   {"<a>&nbsp;</a>", 1, "undefined entity"},
		"growing.xml":  {growing(), 1, "amplification"},
		"prefix.svg":   {"<svg xmlns='http://www.w3.org/2000/svg'>\n<use xlink:href='#a'/></svg>", 2, "unbound prefix"},
		"quote.html":   {page("<a href=\"x>y</a><p class=\"b\">z</p>"), 3, "a quote or an end is missing"},
		"bracket.html": {"<p>\n<div <p>x</p></div>", 2, "a quote or an end is missing"},
		"tag.html":     {"<p>\n<a href=\"x", 2, "the tag <a is never closed"},
		"comment.htm":  {page("<!-- x"), 3, "comment is never closed"},
		"script.html":  {page("<script>let a"), 3, "<script> is never closed"},
		"title.html":   {"<html><head><title>t</head></html>", 1, "<title> is never closed"},
		"div.html":     {page("<div>"), 3, "<div> is never closed"},
		"span.html":    {page("<div>\n<span></div>"), 4, "<span> is not closed before </div>"},
		"stray.html":   {page("</section>"), 3, "</section> ends nothing"},
	}
	sound := map[string]string{
		"ok/tags.yaml":     "a: !Ref b\nc: !Sub\n  - x\n  - {y: !GetAtt z.q}\nd: !!python/object:os.system {}\n",
		"ok/keys.yaml":     "1: a\n\"1\": b\nx: &x {c: d}\ny:\n  <<: *x\n  <<: *x\n? [a, b]\n: c\n",
		"ok/workflow.yml":  "on: push\nenv:\n  A: ${{ secrets.A }}\n",
		"ok/text.yaml":     "a: |\n  {{ x }}\n  {% if y %}\n",
		"ok/copying.yaml":  copying(),
		"ok/empty.yaml":    "",
		"ok/chart.yaml":    "a: 1\n{{- if .Values.x }}\na: {{ .x }}\n{{- end }}\n",
		"ok/latin.xml":     "<?xml version='1.0' encoding='iso-8859-1'?>\n<!DOCTYPE a [<!ENTITY n '\xe9'>]>\n<a x='&n;'><![CDATA[<]]></a>",
		"ok/kanji.xml":     "<?xml version='1.0' encoding='shift_jis'?><a/>",
		"ok/outside.xml":   "<!DOCTYPE a [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><a>&e;</a>",
		"ok/page.xhtml":    "<?xml version='1.0'?><!DOCTYPE html PUBLIC 'a' 'http://example.com/a.dtd'><html>&nbsp;</html>",
		"ok/template.xml":  "{% for x in y %}<a>{{ x }}</a>{% endfor %}",
		"ok/deep.xml":      strings.Repeat("<a>", 20000) + strings.Repeat("</a>", 20000),
		"ok/vue.html":      page("<MyItem @click=\"a > 1 ? '<b>' : c\" :a=\"{ b }\" v-slot:[name]=\"{ d }\" #default><my-a/></MyItem><i t={{ a[\"b\"] }}>{{ a > \"b\" }}</i>"),
		"ok/angular.html":  page("<a [x]=\"y\" (click)=\"z\" *ngFor=\"let a of b\" [(c)]='d'>a</a>"),
		"ok/alpine.html":   page("<search x-data=\"{ open: false,\n t() { return 1 > 2 } }\">q</search>"),
		"ok/omitted.html":  page("<p>a<p>b<ul><li>a<li><b>c</b></ul><table><tr><td>x</table><select><option>a</select>"),
		"ok/slashes.html":  page("<a href=foo/>x</a><div/><span/></span><script src=x /></script><br></br><img/>"),
		"ok/raw.html":      page("<script>if (a < b) '</div>'; `${x}`</script><style>a>b{}</style><textarea></div></textarea>"),
		"ok/comments.html": "<!-- a --><!doctype html><html><!--[if IE]><div><![endif]--><!--> <!-- <div> --!></html><!-- b -->",
		"ok/drawing.html":  page("<svg viewBox='0 0 1 1'><path d='M0'/><title>x</title></svg><template><tr></tr></template>"),
		"ok/text.html":     page("a < b & c <3 </> 'd' \"e"),
		"ok/head.html":     "<!doctype html><html><body><div>",
		"ok/foot.html":     "</div></body></html>",
		"ok/a.php.html":    "<?php if ($a > 1): ?>\n<div <?= $x ?> class=\"<?php echo \"a\" ?>\">",
		"ok/jinja.html":    page("{% if x %}<div>{% else %}<div class=\"{{ a|b(\"c\") }}\">{% endif %}</div>"),
		"ok/deep.html":     page(strings.Repeat("<div>", 20000) + strings.Repeat("</div>", 20000)),
	}
	files := map[string]string{"big.yaml": strings.Repeat("- a\n", 10<<20/4)}
	for p, row := range bad {
		files[p] = row[0].(string)
	}
	for p, text := range sound {
		files[p] = text
	}
	b := checktest.NewBench(t, files, sandbox.Limits{})
	out := syntax.Run(t.Context(), b, b.View.Paths())
	if out.Verdict != "" {
		t.Fatalf("%+v", out)
	}
	seen := map[string]check.Finding{}
	for _, f := range out.Findings {
		if _, ok := bad[f.File]; !ok {
			t.Errorf("%s is sound: %+v", f.File, f)
		}
		if _, ok := seen[f.File]; !ok {
			seen[f.File] = f
		}
	}
	for p, row := range bad {
		if f := seen[p]; f.Line != row[1] || !strings.Contains(f.Message, row[2].(string)) {
			t.Errorf("%s: %+v, want line %d and %q", p, f, row[1], row[2])
		}
	}
	// One file is too large, four are templates, and one has an encoding that the parser does not know.
	if want := fmt.Sprintf("parsed %d of %d changed files", len(files)-6, len(files)); !strings.HasPrefix(out.Detail, want) {
		t.Errorf("%s, want %s", out.Detail, want)
	}
}
