/// The name and version that clients report to servers.
package enum LibraryVersion {
    package static let current = "0.1.0"
}
