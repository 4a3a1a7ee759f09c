package forge

// Git runs git, for questions that no exported function asks.
var Git = read
