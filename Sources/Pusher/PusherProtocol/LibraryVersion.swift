/// What clients tell servers of themselves.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
