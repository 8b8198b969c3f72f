// The name that older programs import.
@_exported public import MatrixSDK
