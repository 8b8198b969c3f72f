/// What opening a connection took, each counted from its start; nil for what was not reached.
package struct ConnectionTimes: Hashable, Sendable {
    /// The numeric address that answered: the server's, or the proxy's.
    package var address: String
    package var nameLookup: Duration?
    package var connect: Duration?
    /// Nil without TLS, too.
    package var tls: Duration?

    package init(address: String, nameLookup: Duration?, connect: Duration?, tls: Duration?) {
        self.address = address
        self.nameLookup = nameLookup
        self.connect = connect
        self.tls = tls
    }
}
