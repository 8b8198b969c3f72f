public import MatrixSDK

/// Callback variants: uploads and downloads.
extension MXRestClient {
    /// `maximumUploadSize()` with a callback.
    @discardableResult
    public func maximumUploadSize(completion: @escaping (MXResponse<Int?>) -> Void) -> MXHTTPOperation {
        operation(completion) { try await self.maximumUploadSize() }
    }

    /// `uploadContent(_:fileName:mimeType:onProgress:)` with a callback: any number of `progress`, then `success` or
    /// `failure`.
    @discardableResult
    public func uploadContent(
        _ data: Data, fileName: String? = nil, mimeType: String = "application/octet-stream",
        completion: @escaping (MXProgress<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { report in
            try await self.uploadContent(data, fileName: fileName, mimeType: mimeType, onProgress: report)
        }
    }

    /// `uploadFile(_:fileName:mimeType:onProgress:)` with a callback: any number of `progress`, then `success` or
    /// `failure`.
    @discardableResult
    public func uploadFile(
        _ file: URL, fileName: String? = nil, mimeType: String = "application/octet-stream",
        completion: @escaping (MXProgress<String>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { report in
            try await self.uploadFile(file, fileName: fileName, mimeType: mimeType, onProgress: report)
        }
    }

    /// `downloadContent(_:to:acceptedTypes:onProgress:)` with a callback: any number of `progress`, then `success` or
    /// `failure`.
    @discardableResult
    public func downloadContent(
        _ uri: String, to file: URL, acceptedTypes: [String]? = nil,
        completion: @escaping (MXProgress<MXDownload>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { report in
            try await self.downloadContent(uri, to: file, acceptedTypes: acceptedTypes, onProgress: report)
        }
    }

    /// `downloadContent(_:intoFolder:acceptedTypes:onProgress:)` with a callback: any number of `progress`, then
    /// `success` or `failure`.
    @discardableResult
    public func downloadContent(
        _ uri: String, intoFolder folder: URL, acceptedTypes: [String]? = nil,
        completion: @escaping (MXProgress<MXDownload>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) { report in
            try await self.downloadContent(uri, intoFolder: folder, acceptedTypes: acceptedTypes, onProgress: report)
        }
    }

    /// `downloadThumbnail(_:to:width:height:method:isAnimated:)` with a callback.
    @discardableResult
    public func downloadThumbnail(
        _ uri: String, to file: URL, width: Int, height: Int, method: MXThumbnailMethod = .scale,
        isAnimated: Bool = false, completion: @escaping (MXResponse<MXDownload>) -> Void
    ) -> MXHTTPOperation {
        operation(completion) {
            try await self.downloadThumbnail(
                uri, to: file, width: width, height: height, method: method, isAnimated: isAnimated)
        }
    }
}
