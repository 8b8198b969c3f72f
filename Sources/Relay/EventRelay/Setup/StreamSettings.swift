import Basics
import CNATS
import Glibc

/// The settings of a stream. Times, limits and replicas can be changed later; storage and retention cannot.
package struct StreamSettings: Hashable, Sendable {
    /// The treatment of a message for which there is no room.
    @nonexhaustive
    package enum Discard: String, Hashable, Sendable {
        /// Refuse it. The relay then stops reading, so nothing is lost silently.
        case new
        /// Discard the oldest messages, even unread ones.
        case old
    }

    package var name: String
    package var description: String
    package var subjects: [String]
    package var replicas = 1
    /// Always limited: a server whose quota is used up accepts nothing more until it is restarted.
    package var maximumBytes: Int64
    /// The time to keep messages; nil for no limit.
    package var maximumAge: Duration?
    package var maximumMessageSize = 1 << 20
    package var duplicateWindow: Duration
    package var discard = Discard.new
    /// The number of messages per subject; nil for no limit.
    package var history: Int?
    /// Whether messages cannot be deleted individually.
    package var deniesDelete = true

    package static func events(
        name: String = "EVENTS", prefix: String = "ev", replicas: Int, maximumBytes: Int64 = 1 << 30,
        maximumAge: Duration = .seconds(7 * 86_400), duplicateWindow: Duration = .seconds(600)
    ) -> Self {
        StreamSettings(
            name: name, description: "Events of EventRelay", subjects: ["\(prefix).>"], replicas: replicas,
            maximumBytes: maximumBytes, maximumAge: maximumAge, duplicateWindow: min(duplicateWindow, maximumAge))
    }

    /// Returns the settings for heartbeats, slots and cursors: a bucket of the key-value store. It has no time to live,
    /// because the replicas would see it end at different times.
    package static func records(bucket: String = "RELAY", replicas: Int, maximumBytes: Int64 = 64 << 20) -> Self {
        StreamSettings(
            name: "KV_\(bucket)", description: "Records of EventRelay", subjects: ["$KV.\(bucket).>"],
            replicas: replicas, maximumBytes: maximumBytes, duplicateWindow: .seconds(120), history: 1)
    }

    /// Returns the settings for events that could not be handled.
    package static func deadLetters(
        name: String = "DEAD", prefix: String = "dead", replicas: Int, maximumBytes: Int64 = 256 << 20
    ) -> Self {
        StreamSettings(
            name: name, description: "Dead letters of EventRelay", subjects: ["\(prefix).>"], replicas: replicas,
            maximumBytes: maximumBytes, duplicateWindow: .seconds(600))
    }
}

package struct StreamStatus: Sendable {
    package let settings: StreamSettings
    package let messages: UInt64
    package let bytes: UInt64
    package let firstSequence: UInt64
    package let lastSequence: UInt64
    /// The leading server; nil without a cluster or a leader.
    package let leader: String?
    /// The number of replicas besides the leader that are up to date.
    package let currentReplicas: Int
}

extension StreamSettings {
    /// Returns the differences from the wanted settings, in words. Settings that don't matter for the relay are not
    /// compared.
    package func differences(from wanted: StreamSettings) -> [String] {
        func difference<Value: Equatable>(_ name: String, _ value: KeyPath<StreamSettings, Value>) -> String? {
            let (own, other) = (self[keyPath: value], wanted[keyPath: value])
            return own == other ? nil : "\(name) is \(Self.text(own)), not \(Self.text(other))"
        }
        return [
            difference("subjects", \.subjects), difference("replicas", \.replicas),
            difference("max_bytes", \.maximumBytes), difference("max_age", \.maximumAge),
            difference("max_msg_size", \.maximumMessageSize),
            difference("duplicate_window", \.duplicateWindow), difference("discard", \.discard.rawValue),
            difference("max_msgs_per_subject", \.history), difference("deny_delete", \.deniesDelete),
        ].compactMap(\.self)
    }

    private static func text(_ value: some Any) -> String {
        switch value {
        case let texts as [String]: texts.joined(separator: ",")
        case let duration as Duration: "\(duration.wholeNanoseconds / 1_000_000_000) s"
        case let duration as Duration?: duration.map { text($0) } ?? "unlimited"
        case let number as Int?: number.map { "\($0)" } ?? "unlimited"
        default: "\(value)"
        }
    }

    /// Calls `body` with the settings in libnats's form.
    func withRaw<Result>(_ body: (inout jsStreamConfig) -> Result) -> Result {
        var raw = jsStreamConfig()
        jsStreamConfig_Init(&raw)
        let texts = subjects.map { strdup($0) }
        defer { texts.forEach { free($0) } }
        var pointers = texts.map { UnsafePointer($0) }
        return name.withCString { name in
            description.withCString { description in
                pointers.withUnsafeMutableBufferPointer { subjects in
                    (raw.Name, raw.Description) = (name, description)
                    (raw.Subjects, raw.SubjectsLen) = (subjects.baseAddress, Int32(subjects.count))
                    raw.Retention = js_LimitsPolicy
                    raw.Storage = js_FileStorage
                    raw.Replicas = Int64(replicas)
                    raw.MaxBytes = maximumBytes
                    raw.MaxAge = maximumAge?.wholeNanoseconds ?? 0
                    raw.MaxMsgs = -1
                    raw.MaxMsgSize = Int32(clamping: maximumMessageSize)
                    raw.Duplicates = duplicateWindow.wholeNanoseconds
                    raw.Discard = discard == .new ? js_DiscardNew : js_DiscardOld
                    raw.MaxMsgsPerSubject = Int64(history ?? 0)
                    (raw.DenyDelete, raw.DenyPurge, raw.AllowRollup) = (deniesDelete, false, false)
                    raw.AllowDirect = true
                    return body(&raw)
                }
            }
        }
    }

    init(_ raw: jsStreamConfig) {
        self.init(
            name: raw.Name.map { String(cString: $0) } ?? "",
            description: raw.Description.map { String(cString: $0) } ?? "",
            subjects: (0..<Int(raw.SubjectsLen)).compactMap { raw.Subjects?[$0].map { String(cString: $0) } },
            replicas: Int(raw.Replicas), maximumBytes: raw.MaxBytes,
            maximumAge: raw.MaxAge > 0 ? .nanoseconds(raw.MaxAge) : nil, maximumMessageSize: Int(raw.MaxMsgSize),
            duplicateWindow: .nanoseconds(raw.Duplicates), discard: raw.Discard == js_DiscardNew ? .new : .old,
            history: raw.MaxMsgsPerSubject > 0 ? Int(raw.MaxMsgsPerSubject) : nil, deniesDelete: raw.DenyDelete)
    }
}
