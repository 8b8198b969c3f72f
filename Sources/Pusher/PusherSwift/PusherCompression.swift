import Transport

/// Compression of messages (permessage-deflate, RFC 7692). It is offered to the server, which may decline.
///
/// It saves bytes where events are large, and costs processor time and, with the default windows, about 300 KiB of memory
/// for each connection. Who can see the sizes of messages and have text of their own in them can guess what else is in
/// them: leave compression off where secrets share messages with what others wrote.
///
/// Nothing is decompressed beyond ``PusherClientOptions/maximumMessageSize``. With ``serverNoContextTakeover`` a message
/// that is larger is skipped. Without, later messages may refer to it: the connection is closed with 1009, and the client
/// connects again without compression.
public struct PusherCompression: Sendable, Hashable {
    /// Whether the server is to compress each message by itself: less is saved. A server that is asked and does not agree
    /// to this is not connected to. Default: no.
    public var serverNoContextTakeover = false
    /// Whether this client compresses each message by itself. Default: no.
    public var clientNoContextTakeover = false
    /// Base-2 logarithm of the bytes that the server may look back, 8 to 15. A server that is asked for less than 15 and
    /// does not agree is not connected to. Default: 15.
    public var serverMaxWindowBits = 15
    /// Base-2 logarithm of the bytes that this client may look back, 9 to 15; the server may ask for less. Default: 15.
    public var clientMaxWindowBits = 15

    /// What servers grant most often: contexts kept, windows of 32 KiB.
    public init() {}
}

extension PusherCompression {
    var offer: DeflateOffer {
        DeflateOffer(
            serverNoContextTakeover: serverNoContextTakeover, clientNoContextTakeover: clientNoContextTakeover,
            serverMaxWindowBits: serverMaxWindowBits, clientMaxWindowBits: clientMaxWindowBits)
    }
}
