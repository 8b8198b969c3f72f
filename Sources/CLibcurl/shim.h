// libcurl's setters and getters are variadic, which Swift cannot call: one wrapper for each type of argument.
#pragma once
#include <curl/curl.h>
