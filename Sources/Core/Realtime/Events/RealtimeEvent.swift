public import Basics
import Glibc
public import JSONBytes

/// How old an event is.
@nonexhaustive
public enum EventOrigin: Hashable, Sendable {
    /// It was published just now.
    case live
    /// The last event of a cache channel, which the server kept and sends at each subscription.
    case cache
    /// The same, and the client has delivered it before: a reconnect brought it again.
    case repeatedCache
}

/// One event of a channel, as bindings and sequences receive it.
///
/// It is a view of the bytes that were received: each property reads them when asked, so an event that is only
/// counted or filtered costs next to nothing. Keep the values that you need rather than millions of events: an event
/// may keep the bytes of its neighbours from the same read alive (up to 64 KiB).
public struct RealtimeEvent: Sendable {
    /// How the data stands in `bytes`.
    @usableFromInline
    package enum DataForm: Sendable {
        case absent
        /// UTF-8 text, to be taken as it is.
        case text
        /// The inside of a JSON string without its quotes, proven well-formed.
        case jsonString
    }

    /// Where a part stands, counted from the event's start. Empty and absent differ: see ``RealtimeEvent/Span/none``.
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

    /// Which part is what. Equal for events whose frames begin alike.
    @usableFromInline
    package struct Layout: Sendable {
        @usableFromInline package var name = Span.none
        @usableFromInline package var channel = Span.none
        @usableFromInline package var user = Span.none
        @usableFromInline package var dataStart: UInt32 = 0
        @usableFromInline package var dataForm = DataForm.absent
        /// Whether it describes a message of the server, or what was put together here.
        package var isFrame = true
        var isKept = false
        var isRepeated = false
        var notifies = false
        var highlights = false

        package init() {}
    }

    /// They may hold other events too.
    @usableFromInline package let bytes: [UInt8]
    /// Where this event starts there, and ends.
    @usableFromInline let start: UInt32
    let end: UInt32
    /// Counted from the start.
    let dataEnd: UInt32
    @usableFromInline package private(set) var layout: Layout

    /// Whether the event is new, or was kept by the server for new subscribers.
    public var origin: EventOrigin { layout.isKept ? (layout.isRepeated ? .repeatedCache : .cache) : .live }

    /// Whether the user's push rules ask for a notification of this event. Always false for events of the Pusher
    /// protocol, which has none.
    public var notify: Bool { layout.notifies }

    /// Whether the user's push rules ask for this event to stand out, as one that names the user does.
    public var highlight: Bool { layout.highlights }

    /// A view of `bytes`. All parts must lie inside them, and name, channel and user must be plain text there.
    ///
    /// - Parameters:
    ///   - range: Where in `bytes` it lies; below 4 GiB.
    ///   - dataEnd: Counted from its start, as all that `layout` says.
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

    /// An event that is not a view of a frame.
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

    /// The user who sent a client event on a presence channel, as the server vouches for it; otherwise nil.
    public var userId: String? { text(layout.user) }

    /// The data as it was published: usually JSON text, but any text can be published. Nil if there was none. Data
    /// that was not sent as a string is given as compact JSON text.
    public var data: String? {
        switch layout.dataForm {
        case .absent: nil
        case .text: text(dataSpan)
        case .jsonString: slice(dataSpan).withUnsafeBufferPointer { JSONString.unescape($0) }
        }
    }

    /// The data as JSON, read where it is asked: `event.json["price"]?.double`. Every access reads the data anew, so ask
    /// for each value once; to read most of them, decode a type. Data that is not JSON has no value of any type.
    public var json: JSONView {
        guard hasData else { return .nothing }
        let data = Int(start &+ layout.dataStart)..<Int(start &+ dataEnd)
        return (isPlain ? JSONView(bytes, in: data) : JSONView(dataBytes)) ?? .nothing
    }

    /// Whether the data stands in ``bytes`` as it is.
    private var isPlain: Bool {
        switch layout.dataForm {
        case .absent: false
        case .text: true
        case .jsonString: !slice(dataSpan).contains(UInt8(ascii: "\\"))
        }
    }

    /// Bytes of the frame that the event came in, or of what it was put together of.
    package var byteCount: Int { Int(end &- start) }

    package var hasData: Bool { layout.dataForm != .absent }

    /// The bytes of ``data``, in memory of `malloc`'s that the caller owns; nil if there are none.
    package func copyData() -> UnsafeMutableBufferPointer<UInt8>? {
        guard dataEnd > layout.dataStart else { return nil }
        let room = Int(dataEnd - layout.dataStart)
        guard let memory = malloc(room) else { return nil }
        let output = UnsafeMutableBufferPointer(start: memory.bindMemory(to: UInt8.self, capacity: room), count: room)
        return UnsafeMutableBufferPointer(start: output.baseAddress, count: writeData(to: output))
    }

    /// The bytes of ``data``; none if there is none.
    package var dataBytes: [UInt8] {
        guard hasData else { return [] }
        return [UInt8](unsafeUninitializedCapacity: Int(dataEnd - layout.dataStart)) { $1 = writeData(to: $0) }
    }

    /// The bytes of ``data`` at most, if there is any.
    package var dataCapacity: Int { Int(dataEnd &- layout.dataStart) }

    /// Writes the bytes of ``data``, which there must be, and returns how many they are.
    ///
    /// - Parameter output: Room for ``dataCapacity``.
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

    /// The same as comparing ``nameKey``, without making one.
    @inlinable
    package func isNamed(_ key: ByteKey) -> Bool {
        withBytes(of: layout.name) { key.equals($0) }
    }

    /// The same as comparing ``channelKey``, without making one.
    @inlinable
    package func isOn(_ key: ByteKey) -> Bool {
        layout.channel.isPresent && withBytes(of: layout.channel) { key.equals($0) }
    }

    /// The bytes of the name, for a quick look.
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

    /// A copy of the event without its neighbours if they are most of what it keeps in memory.
    package func detached() -> RealtimeEvent {
        guard bytes.count >= 2 * byteCount else { return self }
        let own = Array(bytes[Int(start)..<Int(end)])
        return RealtimeEvent(bytes: own, range: own.indices, layout: layout, dataEnd: dataEnd)
    }

    /// The same event under another name.
    package func renamed(_ newName: String) -> RealtimeEvent {
        copy(name: ArraySlice(newName.utf8), data: part(dataSpan, isPresent: hasData), form: layout.dataForm)
    }

    /// The same event with other data, which must be UTF-8.
    package func withData(_ data: [UInt8]) -> RealtimeEvent {
        copy(name: slice(layout.name), data: data[...], form: .text)
    }

    /// The data may be megabytes: it is copied once, as it stands.
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

    /// The same event, told apart from a new one.
    package func withOrigin(_ origin: EventOrigin) -> RealtimeEvent {
        var event = self
        (event.layout.isKept, event.layout.isRepeated) = (origin != .live, origin == .repeatedCache)
        return event
    }

    /// The same event on a channel whose name has lost so many bytes of its beginning, if it has one.
    package func droppingChannelPrefix(of count: Int) -> RealtimeEvent {
        guard layout.channel.isPresent else { return self }
        var event = self
        let span = layout.channel
        event.layout.channel = Span(min(span.start + UInt32(clamping: count), span.end), span.end)
        return event
    }

    /// The frame that the event was cut from; nil for an event that was put together.
    package var frame: ArraySlice<UInt8>? { layout.isFrame ? bytes[Int(start)..<Int(end)] : nil }

    /// Equal for two events of the same name and data, as they came; differs between processes.
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
    /// Name and channel, never the data.
    public var description: String {
        "event \(eventName)" + (channelName.map { " on channel \($0)" } ?? "")
    }
}

extension RealtimeEvent {
    /// The same event for a frame in which name, channel or user contain JSON escapes.
    package func unescapingNames() -> RealtimeEvent {
        func unescaped(_ span: Span) -> String? {
            span.isPresent ? slice(span).withUnsafeBufferPointer { JSONString.unescape($0) } : nil
        }
        return RealtimeEvent(
            name: unescaped(layout.name) ?? "", channel: unescaped(layout.channel), data: data,
            userId: unescaped(layout.user))
    }
}
