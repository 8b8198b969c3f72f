import CNATS

extension NATSConnection {
    package enum SetUp: Hashable, Sendable {
        case created
        case existed
        /// It exists and was left unchanged; contains the differences from the wanted settings.
        case differs([String])
    }

    /// Creates a stream, unless it exists. An existing stream with other settings is never changed.
    package func setUp(_ settings: StreamSettings) async throws(NATSError) -> SetUp {
        let task = "the creation of stream \(settings.name)"
        try Self.validate(settings.name)
        guard settings.maximumBytes > 0,
            settings.subjects.allSatisfy({ NATSSubject.isValid($0, allowsWildcards: true) })
        else { throw NATSError(.invalidArgument, "\(task) failed: its limit or one of its subjects cannot be used") }
        if let existing = try await streamStatus(settings.name) { return Self.compared(existing.settings, settings) }
        do {
            try await call(task, subject: "$JS.API.STREAM.CREATE.\(settings.name)") { link throws(NATSError) in
                var (info, code) = (UnsafeMutablePointer<jsStreamInfo>?.none, jsErrCode(0))
                let status = Self.withJSOptions(wait: .seconds(10)) { options in
                    settings.withRaw { js_AddStream(&info, link.jetStream, &$0, options, &code) }
                }
                defer { jsStreamInfo_Destroy(info) }
                guard status == NATS_OK else { throw NATSError(status, Int(code.rawValue), during: task) }
            }
            return .created
        } catch {
            // Another process created it first.
            guard error.kind == .differentSettings, let existing = try await streamStatus(settings.name) else {
                throw error
            }
            return Self.compared(existing.settings, settings)
        }
    }

    private static func compared(_ existing: StreamSettings, _ wanted: StreamSettings) -> SetUp {
        let differences = existing.differences(from: wanted)
        return differences.isEmpty ? .existed : .differs(differences)
    }

    /// - Returns: The stream's status; nil if it does not exist.
    package func streamStatus(_ name: String) async throws(NATSError) -> StreamStatus? {
        let task = "the question for stream \(name)"
        try Self.validate(name)
        return try await call(task, subject: "$JS.API.STREAM.INFO.\(name)") { link throws(NATSError) in
            var (info, code) = (UnsafeMutablePointer<jsStreamInfo>?.none, jsErrCode(0))
            let status = Self.withJSOptions(wait: .seconds(5)) {
                js_GetStreamInfo(&info, link.jetStream, name, $0, &code)
            }
            defer { jsStreamInfo_Destroy(info) }
            if code.rawValue == 10059 { return nil }
            guard status == NATS_OK, let info, let config = info.pointee.Config else {
                throw NATSError(status, Int(code.rawValue), during: task)
            }
            return StreamStatus(info.pointee, StreamSettings(config.pointee))
        }
    }

    /// - Throws: An error with the necessary change if the stream does not accept messages with this prefix.
    func requireStream(_ name: String, takes prefix: String) async throws(NATSError) {
        guard let subjects = try await streamStatus(name)?.settings.subjects,
            !subjects.contains(where: { subject in
                subject == ">" || subject == "\(prefix).>" || subject == "*.>"
            })
        else { return }
        throw NATSError(
            .differentSettings,
            "stream \(name) takes \(subjects.joined(separator: " ")), not \(prefix).>: give the prefix of its subjects, or "
                + "name another stream")
    }

    /// Removes the messages of a subject up to and including this one.
    func purge(_ subject: String, upTo sequence: UInt64, of stream: String) async throws(NATSError) {
        let task = "the removal of \(subject)"
        try await call(task, subject: "$JS.API.STREAM.PURGE.\(stream)") { link throws(NATSError) in
            var code = jsErrCode(0)
            let status = Self.withJSOptions(wait: .seconds(5)) { options in
                subject.withCString { subject in
                    options.pointee.Stream.Purge.Subject = subject
                    options.pointee.Stream.Purge.Sequence = sequence + 1
                    return js_PurgeStream(link.jetStream, stream, options, &code)
                }
            }
            guard status == NATS_OK else { throw NATSError(status, Int(code.rawValue), during: task) }
        }
    }

    static func validate(_ name: String) throws(NATSError) {
        guard NATSSubject.isName(name) else {
            throw NATSError(.invalidArgument, "names of streams and consumers are letters, digits, - and _")
        }
    }
}

extension StreamStatus {
    fileprivate init(_ info: jsStreamInfo, _ settings: StreamSettings) {
        let cluster = info.Cluster?.pointee
        let current = (0..<Int(cluster?.ReplicasLen ?? 0)).count { index in
            cluster?.Replicas?[index]?.pointee.Current ?? false
        }
        self.init(
            settings: settings, messages: info.State.Msgs, bytes: info.State.Bytes, firstSequence: info.State.FirstSeq,
            lastSequence: info.State.LastSeq,
            leader: (cluster?.Leader).flatMap { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 },
            currentReplicas: current)
    }
}
