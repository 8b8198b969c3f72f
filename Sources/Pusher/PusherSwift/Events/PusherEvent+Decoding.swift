public import Foundation
public import JSONBytes
import PusherProtocol
public import Realtime

extension RealtimeEvent {
    /// Decodes the data as your own type.
    ///
    /// - Throws: ``PusherError`` of kind `undecodableData`, which names the event, the channel and the position in the
    ///   data, but not the data.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using decoder: JSONBytesDecoder = JSONBytesDecoder()
    ) throws(PusherError) -> Value {
        guard hasData else { throw undecodable("it has no data") }
        return try naming { try decoder.decode(type, capacity: dataCapacity, write: writeData) }
    }

    /// Decodes the data as your own type with Foundation's decoder, which takes about four times as long.
    ///
    /// - Throws: ``PusherError`` of kind `undecodableData`, which names the event, the channel and the position in the
    ///   data, but not the data.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using decoder: JSONDecoder
    ) throws(PusherError) -> Value {
        guard let dataBytes else { throw undecodable("it has no data") }
        return try naming { try decoder.decode(type, from: dataBytes) }
    }

    private func naming<Value>(_ decode: () throws -> Value) throws(PusherError) -> Value {
        do {
            return try decode()
        } catch let error as DecodingError {
            throw undecodable(error.place)
        } catch {
            throw undecodable("its data does not fit")
        }
    }

    /// The bytes of ``data``, without converting them to a string and back.
    private var dataBytes: Data? {
        guard hasData else { return nil }
        guard let copy = copyData(), let start = copy.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: copy.count, deallocator: .free)
    }

    /// Returns a member of the message as received from the server: `event`, `channel`, `data` (as text), `user_id`, or
    /// one unknown to the protocol.
    public func property(withKey key: String) -> Any? { message(parsed: false)[key] }

    /// Returns the data as ``PusherEventEmitter/bind(eventName:callback:)`` delivers it.
    func value(parsed: Bool) -> Any? {
        guard parsed, let data else { return data }
        return JSON.value(data) ?? data
    }

    /// Whether the event is a `pusher:error`. Servers send its data as an object, so older versions always delivered it
    /// parsed.
    var isServerError: Bool { eventName == "pusher:error" }

    func message(parsed: Bool) -> [String: Any] {
        var message = unknownMembers
        message["event"] = eventName
        message["channel"] = channelName
        message["data"] = value(parsed: parsed)
        message["user_id"] = userId
        return message
    }

    /// The members of the frame that the protocol doesn't define.
    private var unknownMembers: [String: Any] {
        frame.flatMap { JSON.object(String(decoding: $0, as: UTF8.self)) } ?? [:]
    }

    private func undecodable(_ reason: String) -> PusherError {
        PusherError(
            .undecodableData, "event \(eventName.prefix(200)) cannot be decoded: \(reason)", channelName: channelName)
    }
}
