// What README.md takes for granted.
let password = ""
