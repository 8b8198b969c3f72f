import Realtime
import Testing

/// Frames that begin like the previous one, as a batch.
struct EventBatchTests {
    private static let frame = #"{"event":"tick","channel":"a","data":"1"}"#
    private let channel = EventRouter.ChannelID(number: 1)

    /// The event of the first frame in `bytes`, with its parts in the places of ``frame``.
    private func event(in bytes: [UInt8]) -> RealtimeEvent {
        var layout = RealtimeEvent.Layout()
        layout.name = RealtimeEvent.Span(10, 14)
        layout.channel = RealtimeEvent.Span(27, 28)
        layout.dataStart = 38
        layout.dataForm = .jsonString
        return RealtimeEvent(bytes: bytes, range: 0..<Self.frame.utf8.count, layout: layout, dataEnd: 39)
    }

    @Test func framesThatBeginAlikeShareTheirHead() throws {
        let second = Self.frame.replacing("\"1\"", with: "\"22\"")
        let bytes = Array((Self.frame + second).utf8)
        let first = event(in: bytes)
        let head = try #require(EventHead(of: first, on: channel))
        let range = Self.frame.utf8.count..<bytes.count
        #expect(bytes.withUnsafeBufferPointer { head.dataStart($0, range) } == range.lowerBound + 38)
        #expect(head.channelName(in: bytes, range) == range.lowerBound + 27..<range.lowerBound + 28)
        var batch = EventBatch(of: bytes, expecting: 2)
        batch.append(first, on: channel)
        batch.begin(head)
        batch.append(range)
        batch.append(range)
        #expect(batch.map(\.event.data) == ["1", "22", "22"])
        #expect(batch.allSatisfy { $0.event.eventName == "tick" && $0.channel == channel })
        var likeTheLast: [Bool] = []
        batch.forEach { likeTheLast.append($2) }
        #expect(likeTheLast == [false, false, true])
        #expect(batch.isOf(bytes))
        #expect(!batch.isOf(bytes.map { $0 }))
    }

    @Test func onlyAFrameThatEndsWithItsDataHasAHead() {
        let bytes = Array(Self.frame.utf8)
        let frame = event(in: bytes)
        #expect(EventHead(of: frame, on: nil) != nil)
        #expect(EventHead(of: frame.withOrigin(.cache), on: nil) == nil)
        #expect(EventHead(of: frame.withData([0x31]), on: nil) == nil)
        let longer = Array(Self.frame.replacing("}", with: #","x":1}"#).utf8)
        var layout = frame.layout
        let more = RealtimeEvent(bytes: longer, range: 0..<longer.count, layout: layout, dataEnd: 39)
        #expect(EventHead(of: more, on: nil) == nil)
        layout.channel = RealtimeEvent.Span(38, 39)
        let behind = RealtimeEvent(bytes: bytes, range: 0..<bytes.count, layout: layout, dataEnd: 39)
        #expect(EventHead(of: behind, on: nil) == nil)
    }

    @Test(arguments: [
        #"{"event":"tock","channel":"a","data":"1"}"#, #"{"event":"tick","channel":"b","data":"1"}"#,
        #"{"event":"tick","channel":"a","data":""#, #"{"event":"tick","channel":"a","data":"1"#, "{", "",
    ])
    func anotherBeginningIsNotRecognised(other: String) throws {
        let head = try #require(EventHead(of: event(in: Array(Self.frame.utf8)), on: channel))
        let bytes = Array(other.utf8)
        #expect(bytes.withUnsafeBufferPointer { head.dataStart($0, 0..<bytes.count) } == nil)
    }

    @Test(
        arguments: [
            (#"{"event":"tick","channel":"other","data":"1"}"#, 27..<32),
            (#"{"event":"tick","channel":"","data":"1"}"#, 27..<27),
            (#"{"event":"tick","channel":"open"#, nil), (#"{"event":"tick","channel":""#, nil),
            (#"{"event":"tick","channel""#, nil), (#"{"event":"tock","channel":"a","data":"1"}"#, nil),
        ] as [(String, Range<Int>?)])
    func theChannelIsFoundBehindTheSameBeginning(frame: String, expected: Range<Int>?) throws {
        let head = try #require(EventHead(of: event(in: Array(Self.frame.utf8)), on: channel))
        let bytes = Array(frame.utf8)
        #expect(head.channelName(in: bytes, 0..<bytes.count) == expected)
    }
}
