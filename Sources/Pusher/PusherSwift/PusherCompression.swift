import Transport

/// Compression of messages (permessage-deflate, RFC 7692). The client offers it to the server, which may decline.
///
/// Compression saves bytes if events are large. It costs processor time and, with the default windows, about 300 KiB of
/// memory per connection. An attacker who sees the sizes of messages and controls part of their text can guess the
/// rest: leave compression off if messages mix secrets with text from others.
///
/// The client decompresses nothing beyond ``PusherClientOptions/maximumMessageSize``. With ``serverNoContextTakeover``
/// it skips a larger message. Without it, later messages may refer to that message, so the client closes the connection
/// with 1009 and reconnects without compression.
public struct PusherCompression: Sendable, Hashable {
    /// Whether the server must compress each message independently, which saves less. If the server does not agree, the
    /// client does not connect. Default: no.
    public var serverNoContextTakeover = false
    /// Whether this client compresses each message independently. Default: no.
    public var clientNoContextTakeover = false
    /// The base-2 logarithm of the server's window in bytes, 8 to 15. If the server does not agree to less than 15, the
    /// client does not connect. Default: 15.
    public var serverMaxWindowBits = 15
    /// The base-2 logarithm of this client's window in bytes, 9 to 15; the server may ask for less. Default: 15.
    public var clientMaxWindowBits = 15

    /// Creates the settings that servers grant most often: context takeover, windows of 32 KiB.
    public init() {}
}

extension PusherCompression {
    var offer: DeflateOffer {
        DeflateOffer(
            serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
            serverMaxWindowBits: serverMaxWindowBits, clientMaxWindowBits: clientMaxWindowBits)
    }
}
