/// The durations of the steps of opening a connection, each counted from its start; nil for steps that were not
/// reached.
package struct ConnectionTimes: Hashable, Sendable {
    /// The numeric address that answered, of the server or the proxy.
    package var address: String
    package var nameLookup: Duration?
    package var connect: Duration?
    /// Also nil without TLS.
    package var tls: Duration?

    package init(address: String, nameLookup: Duration?, connect: Duration?, tls: Duration?) {
        self.address = address
        self.nameLookup = nameLookup
        self.connect = connect
        self.tls = tls
    }
}
