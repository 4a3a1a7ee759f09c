package llm

// Detached lets a test see how long a late write may take.
var Detached = detached
