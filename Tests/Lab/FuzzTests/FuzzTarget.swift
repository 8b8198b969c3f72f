import JSONBytes

/// Code that reads bytes from strangers. Each target takes any bytes, and reports the claim that fails for them.
enum FuzzTarget: String, CaseIterable {
    case websocket
    case handshake
    case frames
    case jsonStrings = "json-strings"
    case jsonDecoder = "json-decoder"
    case presence
    case auth
    case users
    case encryption
    case httpAPI = "http-api"
    case clientFrames = "client-frames"
    case matrixJSON = "matrix-json"
    case matrixSync = "matrix-sync"
    case olm
    case megolm
    case signedKeys = "signed-keys"
    case encryptedFiles = "encrypted-files"
    case keyExport = "key-export"
    case keyBackup = "key-backup"
    case secretStorage = "secret-storage"
    case verification
    case cryptoMachine = "crypto-machine"
    case pydioAnswers = "pydio-answers"
    case pydioDocuments = "pydio-documents"
    case terminalInput = "terminal-input"
    case screenText = "screen-text"
    case png
    case jpeg
    case html

    func run(_ bytes: [UInt8]) throws(BrokenClaim) {
        switch self {
        case .websocket: try fuzzWebSocket(bytes)
        case .handshake: try fuzzHandshake(bytes)
        case .frames: try fuzzFrames(bytes)
        case .jsonStrings: try fuzzJSONStrings(bytes)
        case .jsonDecoder: try fuzzDecoder(bytes)
        case .presence: try fuzzPresence(bytes)
        case .auth: try fuzzAuth(bytes)
        case .users: try fuzzUsers(bytes)
        case .encryption: try fuzzEncryption(bytes)
        case .httpAPI: try fuzzHTTPAPI(bytes)
        case .clientFrames: try fuzzClientFrames(bytes)
        case .matrixJSON: try fuzzMatrixJSON(bytes)
        case .matrixSync: try fuzzMatrixSync(bytes)
        case .olm: try fuzzOlm(bytes)
        case .megolm: try fuzzMegolm(bytes)
        case .signedKeys: try fuzzSignedKeys(bytes)
        case .encryptedFiles: try fuzzEncryptedFiles(bytes)
        case .keyExport: try fuzzKeyExport(bytes)
        case .keyBackup: try fuzzKeyBackup(bytes)
        case .secretStorage: try fuzzSecretStorage(bytes)
        case .verification: try fuzzVerification(bytes)
        case .cryptoMachine: try fuzzCryptoMachine(bytes)
        case .pydioAnswers: try fuzzPydioAnswers(bytes)
        case .pydioDocuments: try fuzzPydioDocuments(bytes)
        case .terminalInput: try fuzzTerminalInput(bytes)
        case .screenText: try fuzzScreenText(bytes)
        case .png: try fuzzPNG(bytes)
        case .jpeg: try fuzzJPEG(bytes)
        case .html: try fuzzHTML(bytes)
        }
    }
}

/// A claim that should hold for all bytes but fails for some.
struct BrokenClaim: Error, CustomStringConvertible {
    let description: String
}

func claim(_ what: String, _ holds: @autoclosure () -> Bool) throws(BrokenClaim) {
    guard holds() else { throw BrokenClaim(description: what) }
}
