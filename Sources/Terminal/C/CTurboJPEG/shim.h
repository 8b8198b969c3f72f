// libjpeg-turbo, by its API that returns errors instead of jumping out of callbacks.
#pragma once
#include <turbojpeg.h>
