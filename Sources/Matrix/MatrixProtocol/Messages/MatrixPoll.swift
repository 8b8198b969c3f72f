package import Basics
import JSONBytes

/// A poll (MSC3381).
public struct MatrixPoll: Sendable, Hashable {
    /// An answer to choose from.
    public struct Answer: Sendable, Hashable, Identifiable {
        /// The id that votes refer to.
        public let id: String
        /// The answer's text.
        public var text: String
        /// The number of votes; `nil` while it is unknown or not to be shown.
        public var votes: Int?
        /// Whether the current user has chosen this answer.
        public var isOwn: Bool

        /// Creates an answer.
        public init(id: String, text: String, votes: Int? = nil, isOwn: Bool = false) {
            (self.id, self.text, self.votes, self.isOwn) = (id, text, votes, isOwn)
        }
    }

    /// The question.
    public var question: String
    /// The answers, in the sender's order: 1 to ``maximumAnswers``.
    public var answers: [Answer]
    /// The maximum number of answers per user; at least 1.
    public var maxSelections: Int
    /// Whether results are shown before the poll ends.
    public var isDisclosed: Bool
    /// Whether the poll has ended.
    public var isEnded: Bool
    /// The number of voters; `nil` while unknown.
    public var voterCount: Int?

    /// The maximum number of answers. Further ones are ignored.
    public static let maximumAnswers = 20

    /// Creates an open poll.
    public init(
        question: String, answers: [Answer], maxSelections: Int = 1, isDisclosed: Bool = true, isEnded: Bool = false,
        voterCount: Int? = nil
    ) {
        (self.question, self.answers, self.maxSelections) = (question, answers, maxSelections)
        (self.isDisclosed, self.isEnded, self.voterCount) = (isDisclosed, isEnded, voterCount)
    }
}

extension MatrixPoll {
    /// Returns `nil` if there is no question or no answer.
    init?(_ content: JSONView) {
        guard let poll = content["m.poll"] ?? content["org.matrix.msc3381.poll.start"] ?? content["m.poll.start"],
            let question = poll["question"]?.extensibleText
        else { return nil }
        var answers: [Answer] = []
        for answer in (poll["answers"]?.array ?? []).prefix(Self.maximumAnswers) {
            guard let id = (answer["m.id"] ?? answer["id"])?.string, let text = answer.extensibleText,
                !answers.contains(where: { $0.id == id })
            else { continue }
            answers.append(Answer(id: id, text: text))
        }
        guard !answers.isEmpty else { return nil }
        self.init(
            question: question, answers: answers, maxSelections: max(poll["max_selections"]?.wholePart ?? 1, 1),
            isDisclosed: ["m.disclosed", "org.matrix.msc3381.poll.disclosed"].contains(poll["kind"]?.string))
    }

    /// Counts the votes.
    ///
    /// Each user's newest vote counts, unless it came after the end. If that vote is invalid, the user has none. The
    /// poll's sender can end it, and so can users who may redact others' messages. Results in an end event are ignored.
    ///
    /// - Parameters:
    ///   - references: All events that refer to the poll, in any order.
    ///   - sender: The user who started the poll.
    ///   - userId: The current user.
    ///   - mayEnd: Returns whether another user may end it.
    package mutating func count(
        _ references: [MXEvent], sender: String, currentUser userId: String?, mayEnd: (String) -> Bool
    ) {
        let references = references.filter { !$0.isRedacted }
        let end = references.filter { $0.pollPart == .end && ($0.sender.isExactly(sender) || mayEnd($0.sender)) }
            .map(\.originServerTs).min()
        var newest: [ByteKey: MXEvent] = [:]
        for vote in references where vote.pollPart == .response && vote.originServerTs <= end ?? .max {
            if let other = newest[ByteKey(vote.sender)], !vote.isNewer(than: other) { continue }
            newest[ByteKey(vote.sender)] = vote
        }
        var (counts, own, voters): ([ByteKey: Int], Set<ByteKey>, Int) = ([:], [], 0)
        for (voter, vote) in newest {
            let chosen = selections(of: vote)
            if !chosen.isEmpty { voters += 1 }
            if voter == userId.map({ ByteKey($0) }) { own = chosen }
            for id in chosen { counts[id, default: 0] += 1 }
        }
        (isEnded, voterCount) = (end != nil, voters)
        for index in answers.indices {
            answers[index].votes = isDisclosed || isEnded ? counts[answers[index].id] ?? 0 : nil
            answers[index].isOwn = own.contains(answers[index].id)
        }
    }

    /// Returns the answers chosen by a vote; none if it is invalid or redacted.
    package func selections(of vote: MXEvent) -> Set<ByteKey> {
        let content = vote.contentJSON
        let selections =
            content["m.selections"] ?? content["org.matrix.msc3381.poll.response"]?["answers"]
            ?? content["m.poll.response"]?["answers"]
        let chosen = Set((selections?.array ?? []).prefix(maxSelections).map { $0.string.map { ByteKey($0) } })
        let known = Set(texts: answers.map(\.id))
        let valid = Set(chosen.compactMap(\.self))
        return valid.count == chosen.count && valid.isSubset(of: known) ? valid : []
    }
}

extension MXEvent {
    /// The role of an event in a poll.
    package enum PollPart: Sendable {
        case start, response, end
    }

    /// The event's role in a poll, by its stable or unstable type.
    package var pollPart: PollPart? {
        switch type {
        case "m.poll.start", "org.matrix.msc3381.poll.start": .start
        case "m.poll.response", "org.matrix.msc3381.poll.response": .response
        case "m.poll.end", "org.matrix.msc3381.poll.end": .end
        default: nil
        }
    }

    /// For a vote or an end, the id of the poll's start event.
    package var pollStartId: String? {
        guard mayRelate, !isState, pollPart == .response || pollPart == .end, let relation = relatesTo,
            relation.relationType == "m.reference"
        else { return nil }
        return relation.eventId
    }

    /// Returns whether the event is newer. If the times are equal, the greater id counts as newer.
    fileprivate func isNewer(than other: MXEvent) -> Bool {
        (originServerTs, eventId) > (other.originServerTs, other.eventId)
    }
}

extension JSONView {
    /// The text of an extensible event's part (MSC1767), or its plain text.
    package var extensibleText: String? {
        let stable = self["m.text"]
        if let text = stable?.string { return text }
        let forms = (stable ?? self["org.matrix.msc1767.message"])?.array ?? []
        let plain = forms.first { ["text/plain", nil].contains($0["mimetype"]?.string) } ?? forms.first
        return plain?["body"]?.string ?? self["org.matrix.msc1767.text"]?.string ?? self["body"]?.string
    }
}
