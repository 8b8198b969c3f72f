package import Basics
import JSONBytes

/// A question with answers to choose from (MSC3381).
public struct MatrixPoll: Sendable, Hashable {
    /// One of the answers.
    public struct Answer: Sendable, Hashable, Identifiable {
        /// What votes name it by.
        public let id: String
        /// What it says.
        public var text: String
        /// How many have chosen it; nil while that is not known, or not to be shown.
        public var votes: Int?
        /// Whether we have chosen it.
        public var isOwn: Bool

        /// An answer that nobody may have chosen yet.
        public init(id: String, text: String, votes: Int? = nil, isOwn: Bool = false) {
            (self.id, self.text, self.votes, self.isOwn) = (id, text, votes, isOwn)
        }
    }

    /// What is asked.
    public var question: String
    /// One to ``maximumAnswers``, in the sender's order.
    public var answers: [Answer]
    /// How many answers one may choose; at least one.
    public var maxSelections: Int
    /// Whether the results are shown before the end.
    public var isDisclosed: Bool
    /// Whether it is over.
    public var isEnded: Bool
    /// How many have voted; nil while that is not known.
    public var voterCount: Int?

    /// Further answers do not count.
    public static let maximumAnswers = 20

    /// A poll that goes on.
    public init(
        question: String, answers: [Answer], maxSelections: Int = 1, isDisclosed: Bool = true, isEnded: Bool = false,
        voterCount: Int? = nil
    ) {
        (self.question, self.answers, self.maxSelections) = (question, answers, maxSelections)
        (self.isDisclosed, self.isEnded, self.voterCount) = (isDisclosed, isEnded, voterCount)
    }
}

extension MatrixPoll {
    /// Nil for what has no question or no answers.
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
    /// Of each user the newest vote counts, unless it came after the end; if that one is spoilt, none. An end counts from
    /// the poll's sender, and from whoever may redact others' messages. What the end claims as the results does not.
    ///
    /// - Parameters:
    ///   - references: Everything that refers to the poll, in any order.
    ///   - sender: Who asked.
    ///   - userId: The current user.
    ///   - mayEnd: Whether another user may end it.
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

    /// The answers that a vote chooses; none if it is spoilt, or was taken back.
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
    /// What a poll is made of.
    package enum PollPart: Sendable {
        case start, response, end
    }

    /// What it is to a poll, by its stable and its unstable type.
    package var pollPart: PollPart? {
        switch type {
        case "m.poll.start", "org.matrix.msc3381.poll.start": .start
        case "m.poll.response", "org.matrix.msc3381.poll.response": .response
        case "m.poll.end", "org.matrix.msc3381.poll.end": .end
        default: nil
        }
    }

    /// Of a vote or an end: the poll.
    package var pollStartId: String? {
        guard mayRelate, !isState, pollPart == .response || pollPart == .end, let relation = relatesTo,
            relation.relationType == "m.reference"
        else { return nil }
        return relation.eventId
    }

    /// Of two that came at the same time, the greater id counts.
    fileprivate func isNewer(than other: MXEvent) -> Bool {
        (originServerTs, eventId) > (other.originServerTs, other.eventId)
    }
}

extension JSONView {
    /// The text of an extensible event's part (MSC1767), or a plain one.
    package var extensibleText: String? {
        let stable = self["m.text"]
        if let text = stable?.string { return text }
        let forms = (stable ?? self["org.matrix.msc1767.message"])?.array ?? []
        let plain = forms.first { ["text/plain", nil].contains($0["mimetype"]?.string) } ?? forms.first
        return plain?["body"]?.string ?? self["org.matrix.msc1767.text"]?.string ?? self["body"]?.string
    }
}
