import Foundation
import MatrixProtocol
import TestSupport
import Testing

@testable import MatrixKit

/// Whatever happens in a room, and however it is split into pages and live events: reports are exact, and the final
/// result equals a single pass from the beginning.
@MainActor @Suite struct BubblePropertyTests {
    private struct Change {
        let index: Int
        let event: MXEvent
    }

    private static func story(_ random: inout XorShift) throws -> (story: Story, changes: [Change]) {
        var (story, changes) = (try Story(), [Change]())
        for _ in 0..<Int.random(in: 1...60, using: &random) {
            let sender = ["@a:s", "@b:s", "@b:s", "@b:s", "@c:s"].randomElement(using: &random) ?? "@b:s"
            let index = story.events.count
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<9:
                let event = try story.say("text \(index)", sender)
                if Int.random(in: 0..<3, using: &random) == 0 {
                    changes.append(Change(index: index, event: try Story.redacted(event)))
                }
            case 9: try story.add("m.room.message", sender, Story.image())
            case 10: try story.say("waves", sender, type: "m.emote")
            case 11: try story.react(sender)
            case 12..<15: try story.member("@j\(index):s", name: "J\(index)")
            case 15: try story.member(sender, name: "Name \(index % 3)")
            case 16: try story.add("m.call.hangup", sender, #"{"call_id":"c"}"#)
            case 17: try story.add("m.room.topic", sender, #"{"topic":"t"}"#, key: "")
            default:
                let event = try story.encrypted(sender)
                let (type, content) =
                    [
                        ("m.room.message", Story.text("secret")), ("m.room.message", Story.image()),
                        ("m.room.message", Story.text("waves", "m.emote")), ("m.reaction", "{}"),
                    ].randomElement(using: &random) ?? ("m.reaction", "{}")
                if Bool.random(using: &random) {
                    changes.append(Change(index: index, event: try Story.decrypted(event, type, content)))
                }
            }
            story.wait([0, 0, 0, 0, 0, 4000, 90_000].randomElement(using: &random) ?? 0)
        }
        return (story, changes)
    }

    @Test(arguments: 0..<400) func howATimelineIsCutDoesNotMatter(seed: UInt64) throws {
        var random = XorShift(seed: seed)
        let (story, changes) = try Self.story(&random)
        let hidesUndecryptable = Bool.random(using: &random)
        func script() -> BubbleScript {
            BubbleScript { $0.formatter.settings.hideUndecryptableEvents = hidesUndecryptable }
        }
        let final = Dictionary(changes.map { ($0.index, $0.event) }) { $1 }

        let whole = script()
        for (index, event) in story.events.enumerated() {
            whole.source.add(final[index] ?? event, state: story.states[index], isOlder: false)
        }
        whole.source.report()

        let cut = script()
        var (low, pending) = (Int.random(in: 0...story.events.count, using: &random), changes.shuffled(using: &random))
        var (high, changed) = (low, Set<Int>())
        func event(_ index: Int) -> MXEvent {
            changed.contains(index) ? final[index] ?? story.events[index] : story.events[index]
        }
        while low > 0 || high < story.events.count || !pending.isEmpty {
            let size = Int.random(in: 1...12, using: &random)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                for _ in 0..<min(size, low) {
                    low -= 1
                    cut.source.add(event(low), state: story.states[low], isOlder: true)
                }
            case 1:
                for _ in 0..<min(size, story.events.count - high) {
                    cut.source.add(event(high), state: story.states[high], isOlder: false)
                    high += 1
                }
            default:
                guard let change = pending.popLast() else { continue }
                changed.insert(change.index)
                if (low..<high).contains(change.index) { cut.source.update(change.event) }
            }
            // The script applies each report to its list, and compares.
            if Int.random(in: 0..<3, using: &random) > 0 { cut.source.report() }
        }
        cut.source.report()

        #expect(cut.lines == whole.lines)
        for event in story.events {
            #expect(cut.source.shownEvent(for: event.eventId) == whole.source.shownEvent(for: event.eventId))
        }
    }
}
