/// `upload`, in all its forms.
extension ServerState {
    private struct Refused: Error {
        let code: Int
        let text: String
    }

    mutating func uploadAnswer(_ call: Call) -> FakePydioAnswer {
        // PHP has discarded the form, and with it all parameters of the action.
        if let limit = configuration.postLimit, call.request.bodySize > limit { return .tree("") }
        do {
            let diff = try store(call)
            if call["simple_uploader"] != nil {
                return .html(
                    "<html><script>if(parent.ajaxplorer.actionBar) parent.ajaxplorer.fireContextRefresh();</script></html>"
                )
            }
            return tellsOutcome(call) ? .tree(diffXML(diff, call)) : .empty
        } catch {
            guard tellsOutcome(call) else { return .empty }
            return .html("\(error.text) (\(error.code))")
        }
    }

    /// Whether the answer reports failures; otherwise it looks like success.
    private func tellsOutcome(_ call: Call) -> Bool {
        call["xhr_uploader"] != nil || call["force_post"] != nil || call.session == nil
    }

    private mutating func store(_ call: Call) throws(Refused) -> NodesDiff {
        guard call.rights.contains(.write) else { throw Refused(code: 412, text: "dir not writeable") }
        let folder = TreePath(call["dir"] ?? "/")
        let tree = tree(call.treeKey)
        guard tree.isFolder(folder) else { throw Refused(code: 412, text: "dir not writeable") }
        guard let upload = call.request.upload, upload.part.isEmpty || upload.part.hasPrefix("userfile_") else {
            throw Refused(code: 411, text: "No file was uploaded")
        }
        // Decoded a second time, after the decoding of every parameter.
        let name = TreePath.cleaned(call["urlencoded_filename"]?.urlDecoded ?? upload.name)
        guard !name.isEmpty else { throw Refused(code: 411, text: "The file has no name") }
        guard !name.hasPrefix(".") else { throw Refused(code: 411, text: "Forbidden") }
        // PHP presents a file that is too large as one without bytes.
        guard upload.size > 0, upload.size <= configuration.uploadLimit ?? .max else {
            throw Refused(code: 410, text: "You must select a file")
        }
        guard !isOverQuota(adding: upload.size, call) else { throw Refused(code: 507, text: "Your quota is exceeded") }
        if let whole = call["appendto_urlencoded_part"]?.urlDecoded {
            return try append(upload, part: folder / name, to: folder / TreePath.cleaned(whole), call)
        }
        let path = call["auto_rename"] != nil ? tree.freePath(folder / name) : folder / name
        return try keep(FileContent(upload), at: path, call)
    }

    /// Appends a part, which is then gone: it existed only for a moment.
    private mutating func append(
        _ upload: UploadedFile, part: TreePath, to path: TreePath, _ call: Call
    ) throws(Refused) -> NodesDiff {
        let part = FileContent(upload)
        guard let before = tree(call.treeKey)[path]?.content else { return try keep(part, at: path, call) }
        guard let content = try? before.appending(part) else { throw Refused(code: 411, text: "Cannot append") }
        return try keep(content, at: path, call)
    }

    private mutating func keep(
        _ content: FileContent, at path: TreePath, _ call: Call
    ) throws(Refused) -> NodesDiff {
        let former = tree(call.treeKey)[path]
        guard former?.isFolder != true else { throw Refused(code: 411, text: "A folder has this name") }
        put(.file(content, id: former?.id ?? makeNodeID(), now: now), at: path, call)
        guard former == nil else {
            publish([.updated(path)], call)
            return NodesDiff(updated: [(path, nil)])
        }
        publish([.created(path)], call)
        return NodesDiff(added: [path])
    }
}
