package guard

import (
	"slices"
	"strings"

	"agent/orchestrator/edit/lex"
)

// builtin reports whether a name has a meaning in a language without an import or a definition of it. If a definition that shadows
// it is removed, a remaining use does not refer to a missing name: the edit may well mean the language's own.
func builtin(lang lex.Grammar, name string) bool {
	names := scriptBuiltins
	if lang == lex.PythonGrammar {
		names = pythonBuiltins
	}
	_, found := slices.BinarySearch(names, name)
	return found
}

// pythonBuiltins are the names of Python's module builtins, sorted.
var pythonBuiltins = sorted(`
ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError BufferError BytesWarning
ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError Ellipsis
EncodingWarning EnvironmentError Exception ExceptionGroup FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit
IOError ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError KeyboardInterrupt LookupError
MemoryError ModuleNotFoundError NameError NotADirectoryError NotImplemented NotImplementedError OSError OverflowError
PendingDeprecationWarning PermissionError ProcessLookupError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning
StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError TypeError UnboundLocalError
UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError UnicodeWarning UserWarning ValueError Warning ZeroDivisionError
abs aiter all anext any ascii bin bool breakpoint bytearray bytes callable chr classmethod compile complex delattr dict dir divmod
enumerate eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance issubclass iter len
list locals map max memoryview min next object oct open ord pow print property quit range repr reversed round set setattr slice sorted
staticmethod str sum super tuple type vars zip`)

// scriptBuiltins are the global names that the JavaScript engines share, those of browsers and Node.js that are alike in both, and
// Node.js's own, sorted.
var scriptBuiltins = sorted(`
AbortController AbortSignal AggregateError Array ArrayBuffer Atomics BigInt Blob Boolean BroadcastChannel Buffer CompressionStream Crypto
CryptoKey CustomEvent DOMException DataView Date DecompressionStream Error EvalError Event EventTarget File FinalizationRegistry Float32Array
Float64Array FormData Function Headers Infinity Int16Array Int32Array Int8Array Intl Iterator JSON Map Math MessageChannel MessageEvent
MessagePort NaN Number Object Performance Promise Proxy RangeError ReadableStream ReferenceError Reflect RegExp Request Response Set
SharedArrayBuffer String Symbol SyntaxError TextDecoder TextEncoder TransformStream TypeError URIError URL URLSearchParams Uint16Array
Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet WebAssembly WebSocket WritableStream atob btoa clearInterval clearTimeout
console crypto decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval fetch globalThis isFinite isNaN parseFloat parseInt
performance process queueMicrotask setInterval setTimeout structuredClone unescape clearImmediate setImmediate`)

// sorted returns the words of a list, sorted.
func sorted(list string) []string {
	names := strings.Fields(list)
	slices.Sort(names)
	return names
}
