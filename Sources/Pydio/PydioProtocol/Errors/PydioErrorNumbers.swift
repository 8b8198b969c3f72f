// The names and numbers of errors in the original library, for programs written for it:
//
//     if error.code == PydioErrorGetSeedWithCaptcha || error.code == PydioErrorLoginWithCaptcha { loadCaptcha() }
//
// They compare with a `PydioError`, and with one as `NSError`. In new programs, use `PydioError.Code`.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// The domain of a ``PydioError`` as `NSError`.
public let PydioErrorDomain = PydioError.errorDomain
/// ``PydioError/Code-swift.enum/unableToParseAnswer``
public let PydioErrorUnableToParseAnswer = 1
/// ``PydioError/Code-swift.enum/requireAuthorization``
public let PydioErrorRequireAuthorization = 2
/// ``PydioError/Code-swift.enum/unableToLogin``
public let PydioErrorUnableToLogin = 3
/// ``PydioError/Code-swift.enum/getSeedWithCaptcha``
public let PydioErrorGetSeedWithCaptcha = 4
/// ``PydioError/Code-swift.enum/loginWithCaptcha``
public let PydioErrorLoginWithCaptcha = 5
/// ``PydioError/Code-swift.enum/errorResponse``
public let PydioErrorErrorResponse = 6
/// ``PydioError/Code-swift.enum/receivedNotExpectedAnswer``
public let PydioErrorReceivedNotExpectedAnswer = 7
/// ``PydioError/Code-swift.enum/notAZipFileResponse``
public let PydioErrorNotAZipFileResponse = 8

extension PydioError.Code {
    /// Whether the code has this number in the original library.
    public static func == (code: PydioError.Code, number: Int) -> Bool { code.number == number }
    /// Whether the code has another number in the original library.
    public static func != (code: PydioError.Code, number: Int) -> Bool { code.number != number }
    /// For `switch error.code { case PydioErrorGetSeedWithCaptcha: … }`.
    public static func ~= (number: Int, code: PydioError.Code) -> Bool { code.number == number }

    /// The number in the original library (8 as in its later version); others begin at 100, and an HTTP status is its
    /// own number.
    var number: Int {
        switch self {
        case .unableToParseAnswer: PydioErrorUnableToParseAnswer
        case .requireAuthorization: PydioErrorRequireAuthorization
        case .unableToLogin: PydioErrorUnableToLogin
        case .getSeedWithCaptcha: PydioErrorGetSeedWithCaptcha
        case .loginWithCaptcha: PydioErrorLoginWithCaptcha
        case .errorResponse: PydioErrorErrorResponse
        case .receivedNotExpectedAnswer: PydioErrorReceivedNotExpectedAnswer
        case .notAZipFileResponse: PydioErrorNotAZipFileResponse
        case .unsupportedServer: 100
        case .network: 101
        case .timedOut: 102
        case .cancelled: 103
        case .invalidArgument: 104
        case .tooLarge: 105
        case .file: 106
        case .unsupportedOperation: 107
        case .notPermitted: 108
        case .http(let status): status
        }
    }
}
