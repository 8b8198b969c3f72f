public import Foundation
public import JSONBytes
import PusherProtocol
public import Realtime

extension RealtimeEvent {
    /// The data as a type of your own.
    ///
    /// - Throws: ``PusherError`` of kind `undecodableData` that names event, channel and the place in the data, but
    ///   not the data.
    public func decode<Value: Decodable>(
        _ type: Value.Type = Value.self, using decoder: JSONBytesDecoder = JSONBytesDecoder()
    ) throws(PusherError) -> Value {
        guard hasData else { throw undecodable("it has no data") }
        return try naming { try decoder.decode(type, capacity: dataCapacity, write: writeData) }
    }

    /// The data as a type of your own, read by Foundation's decoder, which takes about four times as long.
    ///
    /// - Throws: ``PusherError`` of kind `undecodableData` that names event, channel and the place in the data, but
    ///   not the data.
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

    /// ``data`` without a detour over a string.
    private var dataBytes: Data? {
        guard hasData else { return nil }
        guard let copy = copyData(), let start = copy.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: copy.count, deallocator: .free)
    }

    /// A member of the message as it came from the server: `event`, `channel`, `data` (as text), `user_id`, or one that
    /// the protocol does not know.
    public func property(withKey key: String) -> Any? { message(parsed: false)[key] }

    /// The data as ``PusherEventEmitter/bind(eventName:callback:)`` gives it.
    func value(parsed: Bool) -> Any? {
        guard parsed, let data else { return data }
        return JSON.value(data) ?? data
    }

    /// Servers send the data of `pusher:error` as an object, so older versions always gave it parsed.
    var isServerError: Bool { eventName == "pusher:error" }

    func message(parsed: Bool) -> [String: Any] {
        var message = unknownMembers
        message["event"] = eventName
        message["channel"] = channelName
        message["data"] = value(parsed: parsed)
        message["user_id"] = userId
        return message
    }

    /// What the frame has beside what the protocol knows.
    private var unknownMembers: [String: Any] {
        frame.flatMap { JSON.object(String(decoding: $0, as: UTF8.self)) } ?? [:]
    }

    private func undecodable(_ reason: String) -> PusherError {
        PusherError(
            .undecodableData, "event \(eventName.prefix(200)) cannot be decoded: \(reason)", channelName: channelName)
    }
}
