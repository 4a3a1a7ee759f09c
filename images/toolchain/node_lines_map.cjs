// Find where a position of a file is in the text that was executed for it.
//
// A placement returns the positions in the executed text for one position of the file, or for
// the range between two of them. It returns none if it cannot tell.
"use strict";

const path = require("node:path");

// What jest and vite put in front of a module on its first line, and what the function constructor puts above it. Source maps do
// not know of it.
const WRAPPER = /^(?:\(\{"Object\.<anonymous>":function\([^)]*\)\{|(?:async function anonymous\([^)]*\) \{\n)?(?:['"]use strict['"];)?(?:async \([^)]*\)\s*=>\s*\{\{?)?)/;
const WRAPPED = /__vi|^\(\{"Object|^async function anonymous/;

const DIGITS = new Map([..."ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"].map((c, i) => [c, i]));

// decode calls each with the fields of every segment of a map: line and column, source, and the line and column there.
function decode(mappings, each) {
  let [source, line, column] = [0, 0, 0];
  mappings.split(";").forEach((text, generated) => {
    let at = 0;
    for (const segment of text.split(",")) {
      const fields = [];
      let [value, shift] = [0, 0];
      for (const c of segment) {
        const digit = DIGITS.get(c);
        if (digit === undefined) throw new Error("not a source map");
        value += (digit & 31) * 2 ** shift;
        shift += 5;
        if (digit & 32) continue;
        fields.push(value % 2 === 1 ? -Math.floor(value / 2) : value / 2);
        [value, shift] = [0, 0];
      }
      if (fields.length === 0) continue;
      at += fields[0];
      if (fields.length < 4) continue;
      source += fields[1];
      line += fields[2];
      column += fields[3];
      each(generated, at, source, line, column);
    }
  });
}

// lineStarts lists where the lines of a text begin.
function lineStarts(text) {
  const starts = [0];
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) starts.push(i + 1);
  return starts;
}

// placed returns the placement by a source map for the source with that number.
function placed(map, number, file, text) {
  const front = WRAPPER.exec(text)[0];
  const prefix = WRAPPED.test(front) ? front.length : 0;
  const [starts, lines] = [lineStarts(text.slice(prefix)), lineStarts(file)];
  const at = new Map(); // position in the file: those in the text
  let last = "";
  decode(map.mappings, (generated, column, source, line, original) => {
    // Some maps repeat the last segment where a line begins, whatever is there.
    const repeated = last === (last = [source, line, original].join());
    if (repeated) return;
    if (source !== number || generated >= starts.length || line < 0 || line >= lines.length) return;
    const from = lines[line] + original;
    const to = prefix + starts[generated] + column;
    if (to < text.length) at.has(from) ? at.get(from).push(to) : at.set(from, [to]);
  });
  const order = [...at.keys()].sort((a, b) => a - b);
  // first returns the index of the first mapped position that is not before the given one.
  const first = (position) => {
    let [low, high] = [0, order.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      order[middle] < position ? (low = middle + 1) : (high = middle);
    }
    return low;
  };
  return {
    // A position without a segment of its own takes that of the one before it in its statement, or else of the one after it.
    at: (position, from, to) => {
      if (at.has(position)) return at.get(position);
      const next = first(position);
      if (next > 0 && order[next - 1] >= from) return at.get(order[next - 1]);
      return next < order.length && order[next] < to ? at.get(order[next]) : [];
    },
    within: (from, to) => order.slice(first(from), first(to)).flatMap((position) => at.get(position)),
  };
}

// shifted returns the placement for a text that contains the file unchanged.
function shifted(by) {
  return {
    at: (position) => [position + by],
    within: (from, to) => Array.from({ length: to - from }, (_, i) => from + by + i),
  };
}

// mapOf returns the source map of a text that was loaded from a path; read returns the text of a file.
function mapOf(script, text, read) {
  const found = [...text.matchAll(/\/\/[#@] sourceMappingURL=(\S+)/g)].at(-1)?.[1];
  if (!found) return undefined;
  const inline = /^data:[^,]*?(;base64)?,/.exec(found);
  const at = inline ? script : path.resolve(path.dirname(script), decodeURIComponent(found));
  const data = !inline ? read(at) : inline[1] ? Buffer.from(found.slice(inline[0].length), "base64").toString() : decodeURIComponent(found.slice(inline[0].length));
  const map = JSON.parse(data);
  if (typeof map.mappings !== "string" || !Array.isArray(map.sources)) return undefined;
  const base = path.resolve(path.dirname(at), String(map.sourceRoot ?? "").replace(/^file:\/\//, ""));
  map.paths = map.sources.map((s) => path.resolve(base, String(s).replace(/^file:\/\//, "").replace(/[?#].*$/, "")));
  return map;
}

// place returns the placement of a file in the text that was loaded from a path. It returns null if the two have nothing to do with
// each other, and undefined if that cannot be determined.
function place(name, file, script, text, read) {
  const own = name === script;
  const shift = own ? text.indexOf(file) : -1;
  if (shift >= 0) return shifted(shift);
  let map;
  try {
    map = mapOf(script, text, read);
  } catch {
    map = undefined;
  }
  if (map) {
    let number = map.paths.indexOf(name);
    if (number < 0 && own && map.paths.length === 1) number = 0;
    if (number >= 0) return placed(map, number, file, text);
  }
  if (!own) return null;
  // Types that were blanked out leave everything in its place. Node itself does that, and adds the file's name at the end.
  return text.replace(/\n\n\/\/# sourceURL=[^\n]*$/, "").length === file.length ? shifted(0) : undefined;
}

module.exports = { place };
