/// A message for the listeners of a workspace.
struct Message: Sendable {
    let number: Int
    /// An element without the enclosing `tree`.
    let xml: String
    /// `nil` for all users.
    let user: String?
}

/// Pending messages of polling clients.
struct Mailboxes: Sendable {
    struct Key: Hashable, Sendable {
        let tree: TreeKey
        let user: String
        /// Chosen by the client.
        let client: String
    }

    private struct Box: Sendable {
        var waiting: [Message] = []
        /// Unix time.
        var consumed: Int
    }

    private var boxes: [Key: Box] = [:]

    private static let limit = 10_000

    var keys: [Key] { Array(boxes.keys) }

    /// - Parameter hasBacklog: Whether the client also gets messages pending for others.
    mutating func register(_ key: Key, hasBacklog: Bool, now: Int) {
        guard boxes[key] == nil else { return }
        var box = Box(consumed: now)
        if hasBacklog {
            var waiting: [Int: Message] = [:]
            for (other, box) in boxes where other.tree == key.tree {
                for message in box.waiting where message.user == nil || message.user == key.user {
                    waiting[message.number] = message
                }
            }
            box.waiting = waiting.values.sorted { $0.number < $1.number }
        }
        boxes[key] = box
    }

    mutating func unregister(_ key: Key) { boxes[key] = nil }

    mutating func post(_ message: Message, to tree: TreeKey) {
        for key in boxes.keys where key.tree == tree && (message.user == nil || message.user == key.user) {
            boxes[key]?.waiting.append(message)
            if boxes[key]?.waiting.count ?? 0 > Self.limit { boxes[key]?.waiting.removeFirst() }
        }
    }

    /// Returns all pending messages once. Removes mailboxes that were not read for longer than `expiry`.
    mutating func consume(_ key: Key, expiry: Int, now: Int) -> [Message] {
        boxes = boxes.filter { $0.key == key || now - $0.value.consumed < expiry }
        defer {
            boxes[key]?.waiting = []
            boxes[key]?.consumed = now
        }
        return boxes[key]?.waiting ?? []
    }
}
