// Names that a program may use without declaring them, where the packages that
// would say so are not installed: those of Node, of test runners, of module
// loaders and of other hosts. Each may be anything, so that nothing is said
// about its use.

declare var process: any, Buffer: any, global: any, __dirname: any, __filename: any;
declare var require: any, module: any, exports: any;
declare var setImmediate: any, clearImmediate: any;
type BufferEncoding = any;

declare var describe: any, context: any, suite: any, it: any, specify: any, test: any, expect: any, assert: any;
declare var before: any, after: any, beforeAll: any, afterAll: any, beforeEach: any, afterEach: any;
declare var setup: any, teardown: any, suiteSetup: any, suiteTeardown: any, should: any, run: any;
declare var xdescribe: any, xit: any, xtest: any, xcontext: any, fdescribe: any, fit: any, pending: any, fail: any;
declare var jest: any, vi: any, vitest: any, jasmine: any, spyOn: any, spyOnProperty: any, sinon: any, chai: any;
declare var QUnit: any, cy: any, Cypress: any, browser: any, page: any, element: any, by: any, protractor: any;

declare var define: any, requirejs: any, System: any, __webpack_require__: any, __webpack_public_path__: any;
declare var importScripts: any, WorkerGlobalScope: any, DedicatedWorkerGlobalScope: any, ServiceWorkerGlobalScope: any;
declare var clients: any, registration: any, skipWaiting: any;
declare var Deno: any, Bun: any, EdgeRuntime: any, AsyncLocalStorage: any, ActiveXObject: any, WScript: any;
declare var quit: any, readFile: any, gc: any, loadFile: any;
declare var chrome: any, safari: any, opera: any, phantom: any, Java: any, load: any, print: any;
