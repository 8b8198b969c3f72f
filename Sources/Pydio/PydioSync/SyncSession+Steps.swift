import Basics
import Foundation
import PydioProtocol
import PydioSDK

enum SyncOutcome {
    /// The step was done, perhaps as a different one.
    case done(PydioSyncStep)
    /// Nothing needed to be done.
    case same
    /// One side has changed since the plan was made, so nothing was done.
    case changedMeanwhile
    case refused(String)
}

// Each step checks both sides again before it changes one, and is recorded after it is done. If the process is killed
// in between, both sides are in sync but not recorded so: the next plan compares them.
extension SyncSession {
    func carryOut(_ step: PydioSyncStep) async throws -> SyncOutcome {
        switch step.kind {
        case .makeLocalFolder: try await makeLocalFolder(step)
        case .makeRemoteFolder: try await makeRemoteFolder(step)
        case .upload: try await upload(step)
        case .download: try await download(step)
        case .deleteLocal: try await deleteLocal(step)
        case .deleteRemote: try await deleteRemote(step)
        case .compare: try await compare(step)
        case .keepBoth: try keepBoth(step)
        }
    }

    // MARK: Folders

    private func makeLocalFolder(_ step: PydioSyncStep) async throws -> SyncOutcome {
        let path = step.syncPath
        guard try await remote.isFolder(path) else { return .changedMeanwhile }
        switch local.find(path) {
        case .nothing:
            try expect(SyncExpectation(record: .folder, effect: .local), at: path)
            try local.makeFolder(path)
        case .node(.folder): break
        case .node(.file), .other: return .changedMeanwhile
        }
        try settle([path: .folder])
        return .done(step)
    }

    private func makeRemoteFolder(_ step: PydioSyncStep) async throws -> SyncOutcome {
        try expect(SyncExpectation(record: .folder, effect: .remoteFolder), at: step.syncPath)
        do {
            guard try await remote.makeFolder(step.syncPath) else {
                // List its contents first.
                try expect(nil, at: step.syncPath)
                return .changedMeanwhile
            }
        } catch let error as PydioError where error.concernsOnePath {
            // A folder created later by another user is not this one.
            try expect(nil, at: step.syncPath)
            throw error
        }
        try settle([step.syncPath: .folder])
        return .done(step)
    }

    // MARK: Deletions

    /// Deletes a local node. Asks the server itself first: the log may lack a node that exists there, so that the plan
    /// doesn't know it.
    private func deleteLocal(_ step: PydioSyncStep) async throws -> SyncOutcome {
        guard try await remote.find(step.syncPath)?.isFolder == step.remote?.isFolder else { return .changedMeanwhile }
        guard try local.delete(step.contents) else { return .changedMeanwhile }
        try settle([:], forgetting: [step.syncPath])
        return .done(step)
    }

    /// Deletes a remote node. Deletes a folder as a whole, so that it can be restored as one, if its contents are as
    /// planned.
    private func deleteRemote(_ step: PydioSyncStep) async throws -> SyncOutcome {
        let path = step.syncPath
        guard local.isStill(step.local, at: path) else { return .changedMeanwhile }
        if let now = try await remote.find(path) {
            guard let node = step.remote, now.hasSameStamp(as: node) else { return .changedMeanwhile }
            if node.isFolder {
                guard let contents = try await remote.contents(below: path, maximum: step.contents.count),
                    contents.count == step.contents.count - 1,
                    contents.allSatisfy({ step.contents[$0.key]?.hasSameStamp(as: $0.value) == true })
                else { return .changedMeanwhile }
            }
            try await remote.delete(path)
        }
        try settle([:], forgetting: [path], isGoneThere: true)
        return .done(step)
    }

    // MARK: Transfers

    private func progress(_ step: PydioSyncStep) -> @Sendable (PydioTransferProgress) -> Void {
        { [report] in report(.progress(step, $0)) }
    }

    /// Uploads a file under a temporary name, which is recorded first. A file that it replaces is set aside under
    /// another name until the new file has its name.
    private func upload(_ step: PydioSyncStep) async throws -> SyncOutcome {
        let path = step.syncPath
        guard case .file(let here) = step.local, local.isStill(step.local, at: path) else { return .changedMeanwhile }
        let upload = SyncUpload(to: path, random: UUID().uuidString.replacing("-", with: "").lowercased())
        try begin(upload)
        do {
            let md5 = try FileDigest.md5(ofFile: local.place(path))
            try await remote.upload(local.place(path), as: upload, onProgress: progress(step))
            let temporary = path.parent.appending(upload.whole)
            guard case .file(let arrived) = try await remote.find(temporary), arrived.size == here.size else {
                throw PydioError(
                    .receivedNotExpectedAnswer, "the server has not kept all of the upload of \(path); it was undone")
            }
            var recorded = here
            recorded.md5 = nil
            let record = SyncRecord.file(local: recorded, remote: arrived, md5: md5)
            try expect(SyncExpectation(record: record, effect: .upload(upload.id)), at: path)
            // If the file changed during reading, the data may be neither the old nor the new version.
            guard local.isStill(step.local, at: path), try await moveAside(step, for: upload),
                try await remote.rename(temporary, to: path.name)
            else {
                try await undo(upload, isOver: true)
                return .changedMeanwhile
            }
            try settle([path: record])
        } catch {
            // This must run even if the call was cancelled. The next run completes what it cannot do.
            let isAnswered = (error as? PydioError)?.concernsOnePath ?? false
            await Task { try? await self.undo(upload, isOver: isAnswered) }.value
            throw error
        }
        if step.remote?.version != nil { try await remote.deleteForGood(path.parent.appending(upload.old)) }
        try settle([:], ending: upload)
        return .done(step)
    }

    /// - Returns: False if the name belongs to something other than the file to replace.
    private func moveAside(_ step: PydioSyncStep, for upload: SyncUpload) async throws -> Bool {
        // If nothing was there, a taken name is refused when the upload is renamed.
        guard case .file(let there) = step.remote else { return true }
        guard case .file(let now) = try await remote.find(step.syncPath), now.hasSameStamp(as: there) else {
            return false
        }
        return try await remote.rename(step.syncPath, to: upload.old)
    }

    private func download(_ step: PydioSyncStep) async throws -> SyncOutcome {
        let path = step.syncPath
        guard let (part, version, md5) = try await fetch(step) else { return .changedMeanwhile }
        defer { unlink(part) }
        guard case .file(let here) = local.find(file: part) else { return .changedMeanwhile }
        let record = SyncRecord.file(local: here, remote: version, md5: md5)
        try expect(SyncExpectation(record: record, effect: .local), at: path)
        guard try local.put(part, at: path, insteadOf: step.local) else {
            try expect(nil, at: path)
            return .changedMeanwhile
        }
        try settle([path: record])
        return .done(step)
    }

    /// Downloads a file to the folder for parts.
    ///
    /// - Returns: The file's path, version and hash; `nil` if it has changed meanwhile.
    private func fetch(_ step: PydioSyncStep) async throws -> (part: String, version: SyncVersion, md5: String)? {
        let path = step.syncPath
        guard case .file(let before) = try await remote.find(path) else { return nil }
        let part = "\(state.parts)/\(UUID().uuidString)"
        do {
            try await remote.download(path, size: before.size, to: part, onProgress: progress(step))
            let md5 = try FileDigest.md5(ofFile: part)
            guard case .file(var after) = try await remote.find(path), after.hasSameStamp(as: before),
                local.find(file: part)?.version?.size == after.size
            else {
                unlink(part)
                return nil
            }
            // The log contains changes that size and time in seconds don't show.
            if case .file(let planned) = step.remote, planned.hasSameStamp(as: after), let hash = planned.md5 {
                if hash != md5, try await remote.findWithHash(path)?.version?.md5 != md5 {
                    unlink(part)
                    return nil
                }
                after.md5 = hash
            }
            return (part, after, md5)
        } catch {
            unlink(part)
            throw error
        }
    }

    // MARK: Conflicts

    /// Compares files that are new or changed on both sides by their contents.
    private func compare(_ step: PydioSyncStep) async throws -> SyncOutcome {
        let path = step.syncPath
        guard case .file(var here) = step.local, case .file(let there) = step.remote,
            local.isStill(step.local, at: path)
        else { return .changedMeanwhile }
        if here.size == there.size {
            let mine = try FileDigest.md5(ofFile: local.place(path))
            guard local.isStill(step.local, at: path) else { return .changedMeanwhile }
            guard let (version, theirs) = try await remoteHash(step) else { return .changedMeanwhile }
            if mine == theirs {
                here.md5 = nil
                try settle([path: .file(local: here, remote: version, md5: mine)])
                return .same
            }
        }
        guard options.direction != .up else {
            return .refused("it has changed on both sides, and was left as it is: a sync both ways keeps both")
        }
        let nodes = try local.scan(nil).nodes
        let new = SyncNames.conflict(path, Self.day) { nodes[$0] != nil || known[$0] != nil }
        return try keepBoth(PydioSyncStep(.keepBoth, path, local: step.local, remote: step.remote, newPath: new))
    }

    /// - Returns: `nil` if the file has changed meanwhile.
    private func remoteHash(_ step: PydioSyncStep) async throws -> (version: SyncVersion, md5: String)? {
        guard case .file(var there) = try await remote.findWithHash(step.syncPath) else { return nil }
        if let md5 = there.md5 {
            there.md5 = step.remote?.version?.md5
            return (there, md5)
        }
        guard let (part, version, md5) = try await fetch(step) else { return nil }
        unlink(part)
        return (version, md5)
    }

    private func keepBoth(_ step: PydioSyncStep) throws -> SyncOutcome {
        guard let new = step.newPath, local.isStill(step.local, at: step.syncPath),
            try local.move(step.syncPath, to: SyncPath(new))
        else { return .changedMeanwhile }
        return .done(step)
    }
}
