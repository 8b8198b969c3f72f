public import Basics
import Glibc
public import JSONBytes

/// The age of an event.
@nonexhaustive
public enum EventOrigin: Hashable, Sendable {
    /// Published just now.
    case live
    /// The last event of a cache channel, which the server stores and sends at each subscription.
    case cache
    /// Like ``cache``, but the client has already delivered it: a reconnect brought it again.
    case repeatedCache
}

/// One event of a channel, as bindings and sequences receive it.
///
/// An event is a view of the bytes that were received. Each property reads them on access, so an event that is only
/// counted or filtered costs next to nothing. Keep the values that you need rather than millions of events: an event
/// may keep the bytes of its neighbours from the same read alive (up to 64 KiB).
public struct RealtimeEvent: Sendable {
    /// The form of the data in `bytes`.
    @usableFromInline
    package enum DataForm: Sendable {
        case absent
        /// UTF-8 text, used as it is.
        case text
        /// The contents of a JSON string without its quotes, known to be well-formed.
        case jsonString
    }

    /// The position of a part, counted from the event's start. Empty and absent differ: see
    /// ``RealtimeEvent/Span/none``.
    @usableFromInline
    package struct Span: Sendable {
        @usableFromInline let start: UInt32
        @usableFromInline let end: UInt32

        package static let none = Span(.max, .max)

        package init(_ start: UInt32, _ end: UInt32) {
            self.start = start
            self.end = end
        }

        @inlinable
        package var isPresent: Bool { start != .max }
    }

    /// The positions of the parts. Equal for events whose frames begin alike.
    @usableFromInline
    package struct Layout: Sendable {
        @usableFromInline package var name = Span.none
        @usableFromInline package var channel = Span.none
        @usableFromInline package var user = Span.none
        @usableFromInline package var dataStart: UInt32 = 0
        @usableFromInline package var dataForm = DataForm.absent
        /// Whether the event is a message of the server, not one that was assembled here.
        package var isFrame = true
        var isKept = false
        var isRepeated = false
        var notifies = false
        var highlights = false

        package init() {}
    }

    /// The underlying bytes, which may contain other events too.
    @usableFromInline package let bytes: [UInt8]
    /// The start and the end of this event in the bytes.
    @usableFromInline let start: UInt32
    let end: UInt32
    /// The end of the data, counted from the start.
    let dataEnd: UInt32
    @usableFromInline package private(set) var layout: Layout

    /// Whether the event is new or was stored by the server for new subscribers.
    public var origin: EventOrigin { layout.isKept ? (layout.isRepeated ? .repeatedCache : .cache) : .live }

    /// Whether the user's push rules ask for a notification of this event. Always false for events of the Pusher
    /// protocol, which has none.
    public var notify: Bool { layout.notifies }

    /// Whether the user's push rules ask to highlight this event, as for one that names the user.
    public var highlight: Bool { layout.highlights }

    /// Creates a view of `bytes`. All parts must lie inside them, and name, channel and user must be plain text there.
    ///
    /// - Parameters:
    ///   - range: The event's position in `bytes`; below 4 GiB.
    ///   - dataEnd: The end of the data, counted from the event's start like all positions in `layout`.
    package init(bytes: [UInt8], range: Range<Int>, layout: Layout, dataEnd: UInt32) {
        self.init(
            bytes: bytes, start: UInt32(truncatingIfNeeded: range.lowerBound),
            end: UInt32(truncatingIfNeeded: range.upperBound), layout: layout, dataEnd: dataEnd)
    }

    @inline(__always)
    init(bytes: [UInt8], start: UInt32, end: UInt32, layout: Layout, dataEnd: UInt32) {
        self.bytes = bytes
        (self.start, self.end) = (start, end)
        self.layout = layout
        self.dataEnd = dataEnd
    }

    /// Creates an event that is not a view of a frame.
    package init(name: String, channel: String?, data: String?, userId: String? = nil) {
        var bytes: [UInt8] = []
        func append(_ text: String?) -> Span {
            guard let text else { return .none }
            let start = bytes.count
            bytes.append(contentsOf: text.utf8)
            return Span(UInt32(truncatingIfNeeded: start), UInt32(truncatingIfNeeded: bytes.count))
        }
        var layout = Layout()
        layout.isFrame = false
        layout.name = append(name)
        layout.channel = append(channel)
        layout.user = append(userId)
        let dataSpan = append(data)
        layout.dataStart = dataSpan.start
        layout.dataForm = data == nil ? .absent : .text
        self.init(bytes: bytes, range: 0..<bytes.count, layout: layout, dataEnd: dataSpan.end)
    }

    /// The event's name, such as `price` or `client-typing`.
    public var eventName: String { text(layout.name) ?? "" }

    /// The channel that the event belongs to; nil for an event of the connection itself.
    public var channelName: String? { text(layout.channel) }

    /// The user who sent a client event on a presence channel, as confirmed by the server; otherwise nil.
    public var userId: String? { text(layout.user) }

    /// The data as it was published, if any: usually JSON text, but any text is possible. Data that was not sent as a
    /// string is returned as compact JSON text.
    public var data: String? {
        switch layout.dataForm {
        case .absent: nil
        case .text: text(dataSpan)
        case .jsonString: slice(dataSpan).withUnsafeBufferPointer { JSONString.unescape($0) }
        }
    }

    /// The data as JSON, read on access: `event.json["price"]?.double`. Every access parses the data again, so read
    /// each value once. To read most of them, decode a type. Data that is not JSON has no value of any type.
    public var json: JSONView {
        guard hasData else { return .nothing }
        let data = Int(start &+ layout.dataStart)..<Int(start &+ dataEnd)
        return (isPlain ? JSONView(bytes, in: data) : JSONView(dataBytes)) ?? .nothing
    }

    /// Whether the data is stored in ``bytes`` as it is.
    private var isPlain: Bool {
        switch layout.dataForm {
        case .absent: false
        case .text: true
        case .jsonString: !slice(dataSpan).contains(UInt8(ascii: "\\"))
        }
    }

    /// The size in bytes of the frame that the event came in, or of the parts that it was assembled from.
    package var byteCount: Int { Int(end &- start) }

    package var hasData: Bool { layout.dataForm != .absent }

    /// Returns the bytes of ``data`` in memory allocated with `malloc`, which the caller owns, or nil if there is no
    /// data.
    package func copyData() -> UnsafeMutableBufferPointer<UInt8>? {
        guard dataEnd > layout.dataStart else { return nil }
        let room = Int(dataEnd - layout.dataStart)
        guard let memory = malloc(room) else { return nil }
        let output = UnsafeMutableBufferPointer(start: memory.bindMemory(to: UInt8.self, capacity: room), count: room)
        return UnsafeMutableBufferPointer(start: output.baseAddress, count: writeData(to: output))
    }

    /// The bytes of ``data``; empty if there is no data.
    package var dataBytes: [UInt8] {
        guard hasData else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(dataEnd - layout.dataStart)) { $1 = writeData(to: $0) }
    }

    /// An upper bound for the number of bytes of ``data``.
    package var dataCapacity: Int { Int(dataEnd &- layout.dataStart) }

    /// Writes the bytes of ``data``, which must exist, and returns their number.
    ///
    /// - Parameter output: A buffer of at least ``dataCapacity`` bytes.
    package func writeData(to output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        slice(dataSpan).withUnsafeBufferPointer { source in
            layout.dataForm == .jsonString
                ? JSONString.unescape(source, into: output) : output.update(fromContentsOf: source)
        }
    }

    package var nameKey: ByteKey { ByteKey(slice(layout.name)) }

    package var channelKey: ByteKey? { layout.channel.isPresent ? ByteKey(slice(layout.channel)) : nil }

    @inlinable
    package var hasChannel: Bool { layout.channel.isPresent }

    /// Like comparing ``nameKey``, but without creating a key.
    @inlinable
    package func isNamed(_ key: ByteKey) -> Bool {
        withBytes(of: layout.name) { key.equals($0) }
    }

    /// Like comparing ``channelKey``, but without creating a key.
    @inlinable
    package func isOn(_ key: ByteKey) -> Bool {
        layout.channel.isPresent && withBytes(of: layout.channel) { key.equals($0) }
    }

    /// Gives direct access to the bytes of the name.
    @inlinable
    package func withName<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        withBytes(of: layout.name, body)
    }

    @inlinable
    func withBytes<Result>(of span: Span, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        bytes.withUnsafeBytes {
            body(UnsafeRawBufferPointer(rebasing: $0[Int(start &+ span.start)..<Int(start &+ span.end)]))
        }
    }

    /// Returns a copy without the event's neighbours if they are most of what it keeps in memory.
    package func detached() -> RealtimeEvent {
        guard bytes.count >= 2 * byteCount else { return self }
        let own = Array(bytes[Int(start)..<Int(end)])
        return RealtimeEvent(bytes: own, range: own.indices, layout: layout, dataEnd: dataEnd)
    }

    package func renamed(_ newName: String) -> RealtimeEvent {
        copy(name: ArraySlice(newName.utf8), data: part(dataSpan, isPresent: hasData), form: layout.dataForm)
    }

    /// Returns the event with other data, which must be UTF-8.
    package func withData(_ data: [UInt8]) -> RealtimeEvent {
        copy(name: slice(layout.name), data: data[...], form: .text)
    }

    /// The data may be megabytes, so it is copied only once and unconverted.
    private func copy(name: ArraySlice<UInt8>, data: ArraySlice<UInt8>, form: DataForm) -> RealtimeEvent {
        let channel = part(layout.channel, isPresent: layout.channel.isPresent)
        let user = part(layout.user, isPresent: layout.user.isPresent)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(name.count + channel.count + user.count + data.count)
        func append(_ part: ArraySlice<UInt8>) -> Span {
            let start = UInt32(bytes.count)
            bytes += part
            return Span(start, UInt32(bytes.count))
        }
        var layout = layout
        layout.isFrame = false
        layout.name = append(name)
        if layout.channel.isPresent { layout.channel = append(channel) }
        if layout.user.isPresent { layout.user = append(user) }
        let dataSpan = append(data)
        (layout.dataStart, layout.dataForm) = (dataSpan.start, form)
        return RealtimeEvent(bytes: bytes, range: bytes.indices, layout: layout, dataEnd: dataSpan.end)
    }

    private func part(_ span: Span, isPresent: Bool) -> ArraySlice<UInt8> { isPresent ? slice(span) : [] }

    package func withOrigin(_ origin: EventOrigin) -> RealtimeEvent {
        var event = self
        (event.layout.isKept, event.layout.isRepeated) = (origin != .live, origin == .repeatedCache)
        return event
    }

    /// Returns the event without the first `count` bytes of its channel's name, if it has a channel.
    package func droppingChannelPrefix(of count: Int) -> RealtimeEvent {
        guard layout.channel.isPresent else { return self }
        var event = self
        let span = layout.channel
        event.layout.channel = Span(min(span.start + UInt32(clamping: count), span.end), span.end)
        return event
    }

    /// The frame that contains the event; nil for an event that was assembled here.
    package var frame: ArraySlice<UInt8>? { layout.isFrame ? bytes[Int(start)..<Int(end)] : nil }

    /// Equal for two events with the same name and received data. Differs between processes.
    package var fingerprint: Int {
        var hasher = Hasher()
        hasher.combine(nameKey)
        if hasData { slice(dataSpan).withUnsafeBytes { hasher.combine(bytes: $0) } }
        return hasher.finalize()
    }

    private var dataSpan: Span { Span(layout.dataStart, dataEnd) }

    private func text(_ span: Span) -> String? {
        span.isPresent ? String(decoding: slice(span), as: UTF8.self) : nil
    }

    private func slice(_ span: Span) -> ArraySlice<UInt8> {
        bytes[Int(start &+ span.start)..<Int(start &+ span.end)]
    }
}

extension RealtimeEvent: CustomStringConvertible {
    /// The name and channel, never the data.
    public var description: String {
        "event \(eventName)" + (channelName.map { " on channel \($0)" } ?? "")
    }
}

extension RealtimeEvent {
    /// Returns the event of a frame in which name, channel or user contain JSON escapes, with these resolved.
    package func unescapingNames() -> RealtimeEvent {
        func unescaped(_ span: Span) -> String? {
            span.isPresent ? slice(span).withUnsafeBufferPointer { JSONString.unescape($0) } : nil
        }
        return RealtimeEvent(
            name: unescaped(layout.name) ?? "", channel: unescaped(layout.channel), data: data,
            userId: unescaped(layout.user))
    }
}
