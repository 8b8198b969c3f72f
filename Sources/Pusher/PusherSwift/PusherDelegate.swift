public import Foundation
public import FoundationNetworking
public import PusherProtocol
public import Realtime

/// A delegate that is notified of what happens to a client, on its callback queue, in order with the events. Every
/// method has a default that does nothing.
@preconcurrency
public protocol PusherDelegate: AnyObject, Sendable {
    /// Reports every step of the connection and every message received or sent, for debugging: the names of events and
    /// channels, and sizes. Contains no payloads or secrets.
    func debugLog(message: String)
    /// The connection changed its state.
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState)
    /// The server confirmed a subscription: once for each channel and connection.
    func subscribedToChannel(name: String)
    /// A subscription failed; the channel is not pending and can be subscribed again.
    ///
    /// - Parameters:
    ///   - response: The answer of the auth endpoint, if there was one.
    ///   - data: The answer's body. It may hold data that does not belong in logs.
    ///   - error: Its `NSUnderlyingErrorKey` is the ``PusherError``.
    func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?)
    /// An event of an encrypted channel could not be decrypted, not even with a newly requested key, and was dropped.
    /// Also reported to ``receivedError(error:)``.
    ///
    /// - Parameter data: The data as received.
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?)
    /// Any other error occurred.
    func receivedError(error: PusherError)
}

extension PusherDelegate {
    /// Does nothing.
    public func debugLog(message: String) { DebugLogProbe.current?.ranDefault(of: self) }
    /// Does nothing.
    public func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {}
    /// Does nothing.
    public func subscribedToChannel(name: String) {}
    /// Does nothing.
    public func failedToSubscribeToChannel(name: String, response: URLResponse?, data: String?, error: NSError?) {}
    /// Does nothing.
    public func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {}
    /// Does nothing.
    public func receivedError(error: PusherError) {}
}
