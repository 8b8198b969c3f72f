import CommandKit
import PydioSync

/// A step of a sync, as a line.
struct SyncStepRecord {
    let step: PydioSyncStep
    /// Whether the step is only planned.
    var isPlanned = false

    var json: String {
        var line = JSONLine(type: isPlanned ? "planned" : "done")
        line.add("step", name)
        line.add("path", step.path)
        line.add("new_path", step.newPath)
        line.add("size", step.size.map { Int($0) })
        return line.text
    }

    private var name: String {
        switch step.kind {
        case .makeLocalFolder: "make_local_folder"
        case .makeRemoteFolder: "make_remote_folder"
        case .upload: "upload"
        case .download: "download"
        case .deleteLocal: "delete_local"
        case .deleteRemote: "delete_remote"
        case .compare: "compare"
        case .keepBoth: "keep_both"
        }
    }

    /// The step as text.
    var words: String {
        switch step.kind {
        case .makeLocalFolder: "\(isPlanned ? "create folder here" : "created folder here"): \(step.path)"
        case .makeRemoteFolder: "\(isPlanned ? "create folder there" : "created folder there"): \(step.path)"
        case .upload: "\(isPlanned ? "upload" : "uploaded"): \(step.path)"
        case .download: "\(isPlanned ? "download" : "downloaded"): \(step.path)"
        case .deleteLocal: "\(isPlanned ? "delete here" : "deleted here"): \(step.path)"
        case .deleteRemote: "\(isPlanned ? "delete there" : "deleted there"): \(step.path)"
        case .compare: "compare, and keep both if they differ: \(step.path)"
        case .keepBoth:
            "\(isPlanned ? "keep both" : "kept both"): \(step.path), \(isPlanned ? "rename" : "renamed") the one here to "
                + (step.newPath ?? "another name")
        }
    }
}
