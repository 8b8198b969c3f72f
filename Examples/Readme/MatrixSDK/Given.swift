// What README.md takes for granted.
import Foundation

let homeserver = URL(filePath: "/")
let password = ""
